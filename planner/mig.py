"""GPUs cut by MIG or shared in time: profiles, node labels and resource names."""

from typing import Literal

from catalogue.types import Gpu, MigProfile

MigStrategy = Literal["none", "single", "mixed"]

_GPU = "nvidia.com/gpu"


def profile(gpu: Gpu, name: str) -> MigProfile | None:
    """The GPU's profile of that name, None if it offers none such."""
    return next((each for each in gpu.mig if each.name == name), None)


def mig_config(name: str) -> str:
    """Value of the node label nvidia.com/mig.config that cuts every GPU of a node by one profile (mig-parted)."""
    return f"all-{_plain(name)}"


def plugin_config(time_slices: int) -> str:
    """Name of the device plugin's configuration that offers every GPU to so many pods."""
    return f"time-slices-{time_slices}"


def resource_name(strategy: MigStrategy, name: str) -> str:
    """What a pod asks for to get a slice: the strategy `mixed` has a resource of each profile, `single` has GPUs.

    Source: NVIDIA k8s-device-plugin, "MIG strategies". Raises ValueError for `none`, under which a cut GPU is not
    offered at all.
    """
    if strategy == "none":
        raise ValueError("the strategy none offers no slices")
    return f"nvidia.com/mig-{_plain(name)}" if strategy == "mixed" else _GPU


def product_label(
    gpu: Gpu, mig: str | None = None, strategy: MigStrategy = "single", replicas: int = 1, renamed: bool = False
) -> str:
    """Value of the node label nvidia.com/gpu.product.

    GPU Feature Discovery joins the driver's name, MIG and the profile under the strategy `single`, and SHARED where a
    GPU is offered several times under its own name (k8s-device-plugin, internal/lm/resource.go). Under `mixed` the
    slices' label is that of their own resource, and this one names the GPU.
    """
    parts = [gpu.product]
    if mig is not None and strategy == "single":
        parts += ["MIG", _plain(mig)]
    if replicas > 1 and not renamed and not (mig is not None and strategy == "mixed"):
        parts.append("SHARED")
    return "-".join(parts)


def _plain(name: str) -> str:
    """A profile's name as labels and resources may hold it: 1g.10gb+me is 1g.10gb.me there."""
    return name.replace("+", ".")
