"""modprobe(8), modinfo(8), lsmod(8), uname(1), swapoff(8) and swapon(8): a kernel that is the machine's own.

Words and exit statuses: kmod tools/modprobe.c ("FATAL: Module %s not found in directory %s", 1), tools/modinfo.c
("Module %s not found.", 1); br_netfilter brings the parameters below net.bridge (kernel
net/bridge/br_netfilter_hooks.c, brnf_table). dkms(8) builds for the kernel that runs when its package is installed.
"""

import os
import pathlib

from rehearsal.metal.tools.machine import called, complain, facts, lasting, version

MODULES = pathlib.Path("/run/.kernel/modules")
SWAPS = pathlib.Path("/run/.kernel/swaps")
PLAIN = {
    *("overlay", "br_netfilter", "ceph", "nvme", "rbd", "zfs", "xfs", "raid0", "ip_vs", "nf_conntrack", "nfs"),
    *("dm_crypt", "8021q", "bonding"),
}
"""Modules that Ubuntu's linux-modules package brings (packages.ubuntu.com, file list of linux-modules-6.8.0)."""
OF_PACKAGES = {
    "mlx5_core": "doca-ofed",
    "ib_umad": "doca-ofed",
    "ib_ipoib": "doca-ofed",
    "rdma_ucm": "doca-ofed",
    "ib_core": "doca-ofed",
    "nvidia": "nvidia-driver",
    "nvidia_uvm": "nvidia-driver",
    "nvidia_peermem": "nvidia-driver",
}
OF_LUSTRE = ("lustre-client-modules", "lustre-server-modules-dkms")
"""Either has the modules of LNet and of the client; the second those of servers too."""
BRIDGE = ("bridge-nf-call-iptables", "bridge-nf-call-ip6tables", "bridge-nf-call-arptables")


def main(name: str, words: list[str]) -> int:
    """One call of one of the tools."""
    if name == "uname":
        return _uname(words)
    if name == "lsmod":
        print("Module                  Size  Used by")
        for line in MODULES.read_text().splitlines():
            module, size, uses = line.split()[:3]
            print(f"{module:<19} {size:>8}  {uses}")
        return 0
    if name == "swapon" and any(word.startswith("--show") for word in words):
        print("\n".join(line.split()[0] for line in SWAPS.read_text().splitlines()[1:]))
        return 0
    called(name, words)
    if name == "modinfo":
        return _modinfo(words[-1])
    if name == "modprobe":
        return _modprobe(words)
    return _swap(off=name == "swapoff")


def _uname(words: list[str]) -> int:
    if words == ["-r"]:
        print(facts()["kernel"])
        return 0
    if words == ["-m"]:
        print("x86_64")
        return 0
    print(os.uname().nodename if words == ["-n"] else "Linux")
    return 0


def _modprobe(words: list[str]) -> int:
    for word in (each for each in words if not each.startswith("-")):
        module = word.replace("-", "_")
        if f"\n{module} " in "\n" + MODULES.read_text():
            continue
        if not _there(module):
            kernel = facts()["kernel"]
            return complain(f"modprobe: FATAL: Module {word} not found in directory /lib/modules/{kernel}", 1)
        with MODULES.open("a") as file:
            file.write(f"{module} 16384 0 - Live 0x0000000000000000\n")
        if module == "br_netfilter":
            for name in BRIDGE:
                path = pathlib.Path("/proc/sys/net/bridge") / name
                path.parent.mkdir(exist_ok=True)
                path.write_text("1\n")
        if module == "lnet":
            from rehearsal.metal.tools import lustre

            lustre.loaded()
        if module == "lustre":
            _modprobe(["lnet"])
    return 0


def _modinfo(module: str) -> int:
    """`-F version MODULE`, of the modules that the running kernel has."""
    built = [version(package) for package in OF_LUSTRE if _built(package)] if module == "lustre" else []
    if not built:
        return complain(f"modinfo: ERROR: Module {module} not found.", 1)
    print(built[0].partition("-")[0])
    return 0


def _built(package: str) -> bool:
    """Whether a package is there and its modules are of the kernel that runs."""
    with lasting() as state:
        found = state.get("packages", {}).get(package)
    return found is not None and found.get("kernel", facts()["kernel"]) == facts()["kernel"]


def _there(module: str) -> bool:
    if module in PLAIN:
        return True
    if module in ("lustre", "lnet"):
        return any(_built(each) for each in OF_LUSTRE)
    package = OF_PACKAGES.get(module)
    if package == "nvidia-driver":
        return bool((facts().get("gpu") or {}).get("driver"))
    return package is not None and _built(package)


def _swap(*, off: bool) -> int:
    header, *rest = SWAPS.read_text().splitlines(keepends=True)
    if off:
        SWAPS.write_text(header)
    elif not rest:
        for line in pathlib.Path("/etc/fstab").read_text().splitlines():
            fields = line.split()
            if len(fields) > 2 and not line.startswith("#") and fields[2] == "swap":
                header += f"{fields[0]:<40}file\t\t8388604\t\t0\t\t-2\n"
        SWAPS.write_text(header)
    return 0


def run(command: str) -> int:
    """Run a command of words that need no quotes; its exit status."""
    pid = os.posix_spawnp(command.split()[0], command.split(), os.environ)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def begin(command: str, log: str) -> int:
    """Begin a command that goes on by itself, and says what it says in a file; the id of its process and its group."""
    said = (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), said, (os.POSIX_SPAWN_DUP2, 1, 2)]
    return os.posix_spawnp(command.split()[0], command.split(), os.environ, file_actions=actions, setsid=True)


def boot() -> None:
    """What systemd-modules-load and systemd-sysctl do at a boot."""
    for file in sorted(pathlib.Path("/etc/modules-load.d").glob("*.conf")):
        for line in file.read_text().split():
            main("modprobe", [line])
    sysctl = "/usr/sbin/sysctl"
    for file in sorted(pathlib.Path("/etc/sysctl.d").glob("*.conf")):
        run(f"{sysctl} -q -p {file}")
    if not any(
        "swap" in line and not line.startswith("#") for line in pathlib.Path("/etc/fstab").read_text().splitlines()
    ):
        _swap(off=True)
