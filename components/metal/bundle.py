"""The bundle that prepares a machine: one bash script, sent over one SSH connection on standard input.

It begins with variables, goes on with the functions of `node/host/`, and ends with one call. Nothing runs before that
last line has arrived, so a connection that is cut on the way changes nothing. The one argument is what to do: `apply`
or `undo`. Secrets are in the text alone: arguments and environments are shown to every user of a machine by `ps`.
"""

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

_SOURCE = Path(__file__).parents[2] / "node" / "host"
_LIBRARY = "lib"

CONCERNS = (
    *("checks", "packages", "time", "modules", "sysctls", "bmc-network", "swap", "containerd", "memlock"),
    *("acs", "rails", "roce", "vfs", "nvme", "ceph-disks", "lnet", "lustre-server", "lustre-rates", "nfs-server"),
    *("local-volumes", "shared-files", "lustre-client", "fabric-manager", "persistence", "clocks", "registry-login"),
    *("kubelet", "control-plane", "join", "invitations"),
    *("apptainer", "slurm", "slurm-database", "slurm-controller", "slurm-node"),
)
"""Every concern in the order in which they are applied: what a later one needs, an earlier one has made."""


def chosen(*names: str) -> tuple[str, ...]:
    """The concerns of these names in their order. Raises ValueError for one that there is not."""
    if unknown := sorted(set(names) - set(CONCERNS)):
        raise ValueError(f"unknown concern {', '.join(unknown)}; known: {', '.join(CONCERNS)}")
    return tuple(each for each in CONCERNS if each in names)


@cache
def script(name: str) -> str:
    """The functions of a concern, or the library's. Raises FileNotFoundError where nobody has written them."""
    return (_SOURCE / f"{name}.sh").read_text(encoding="utf-8")


def header(variables: Mapping[str, str]) -> str:
    """The variables as assignments. Values may hold anything but NUL; names are those of shells."""
    for name, value in variables.items():
        if not name.isidentifier() or name != name.upper() or "\0" in value:
            raise ValueError(
                f"{name} is not a valid variable of a bundle: capitals, digits and _, and a value without NUL"
            )
    return "".join(f"GPUCLUSTER_{name}={shlex.quote(variables[name])}\n" for name in sorted(variables))


def bundle(variables: Mapping[str, str], concerns: Sequence[str], *, apart: str | None = None) -> str:
    """The text. `GENERATION` is the hash of all else in it: an older text that is undone later finds it superseded.

    A second bundle of the same machine keeps what it remembers `apart`, under this name: each is undone by itself.
    """
    call = f"run_concerns {' '.join(concerns)}\n"
    parts = (header(variables), script(_LIBRARY), *_places(apart), *(script(each) for each in concerns), call)
    rest = "\n".join(parts)
    generation = hashlib.sha256(rest.encode()).hexdigest()[:16]
    return f"GPUCLUSTER_ACTION=${{1:-apply}}\n{header({'GENERATION': generation})}\n{rest}"


def _places(apart: str | None) -> Iterator[str]:
    if apart is not None:
        state, run = f"/var/lib/gpucluster-{apart}", f"/run/gpucluster-{apart}"
        yield header({"STATE": state, "RUN": run, "PENDING": f"{run}/pending"})
