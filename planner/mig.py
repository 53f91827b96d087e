"""GPUs cut by MIG or shared in time: profiles and node labels."""

from catalogue.types import Gpu, MigProfile


def profile(gpu: Gpu, name: str) -> MigProfile | None:
    """The GPU's profile of that name, None if it offers none such."""
    return next((each for each in gpu.mig if each.name == name), None)


def mig_config(name: str) -> str:
    """Value of the node label nvidia.com/mig.config that cuts every GPU of a node by one profile (mig-parted)."""
    return f"all-{_plain(name)}"


def plugin_config(time_slices: int) -> str:
    """Name of the device plugin's configuration that offers every GPU to so many pods."""
    return f"time-slices-{time_slices}"


def product_label(gpu: Gpu, mig: str | None = None, replicas: int = 1) -> str:
    """Value of the node label nvidia.com/gpu.product under the MIG strategy `single`, the only one used here.

    GPU Feature Discovery joins the driver's name, MIG and the profile, and SHARED where a GPU is offered several times
    (k8s-device-plugin, internal/lm/resource.go).
    """
    cut = ["MIG", _plain(mig)] if mig is not None else []
    return "-".join([gpu.product, *cut, *(["SHARED"] if replicas > 1 else [])])


def _plain(name: str) -> str:
    """A profile's name as labels and resources may hold it: 1g.10gb+me is 1g.10gb.me there."""
    return name.replace("+", ".")
