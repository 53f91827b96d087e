"""apt-get(8), apt-mark(8), add-apt-repository(1), dpkg-query(1), and the programs that only say their version: what is
installed, and who holds it.

Words and statuses: apt-get ends with 100 on any error ("E: Unable to locate package", "E: Version '…' for '…' was not
found", apt-pkg/cacheset.cc); dpkg-query with 1 ("no packages found matching"). A package of pkgs.k8s.io is found only
where a list names the repository of its minor version and its key lies there.
"""

import fnmatch
import pathlib
import re

from rehearsal.metal.tools.machine import absent, called, complain, facts, lasting, version

LISTS = pathlib.Path("/etc/apt/sources.list.d")
KUBERNETES = ("kubelet", "kubeadm", "kubectl")
SERVED = (
    *("chrony", "xfsprogs", "mdadm", "pciutils", "mstflint", "nvme-cli", "nfs-kernel-server", "nfs-common"),
    *("conntrack", "socat", "ethtool", "ipset", "lvm2", "numactl", "linux-*", "lustre-*", "zfs-dkms", "zfsutils-linux"),
    *("rdma-core", "infiniband-diags", "ibverbs-utils", "perftest", "containerd.io", "cri-tools", "kubernetes-cni"),
    *("nvidia-*", "doca-*", "cuda-*", "libnvidia-*", "datacenter-gpu-manager*", "slurm-wlm-nvml-plugin"),
    *("munge", "slurm-client", "slurmctld", "slurmd", "slurmdbd", "mariadb-server", "open-iscsi"),
)
"""Names that Ubuntu's, Docker's, NVIDIA's and DOCA's repositories have."""
PPAS = {"ppa:apptainer/ppa": ("apptainer", LISTS / "apptainer-ubuntu-ppa-noble.sources")}
"""What an archive on Launchpad has, and the file by which apt knows it (add-apt-repository(1))."""
NEWEST = {
    "chrony": "4.5-1ubuntu4.2",
    "containerd.io": "2.2.1-1~ubuntu.24.04~noble",
    "xfsprogs": "6.6.0-1ubuntu2.1",
    "mdadm": "4.3-1ubuntu2.1",
    "zfsutils-linux": "2.2.2-0ubuntu9.4",
}


def main(name: str, words: list[str]) -> int:
    """One call."""
    if name == "containerd":
        have = version("containerd.io") or version("containerd")
        if not have:
            return absent(name)
        print(f"containerd containerd.io v{have.partition('-')[0]} 0000000")
        return 0
    called(name, words)
    if name == "add-apt-repository":
        return _archive(words)
    if name == "dpkg-query":
        return _query(words)
    plain = _values(words)
    if name == "apt-mark":
        return _mark(plain)
    verb, *packages = plain
    if verb == "update":
        return 0
    if verb == "install":
        return _install(packages)
    return _remove(packages)


def _values(words: list[str]) -> list[str]:
    """The words that are no options; `-o` takes the next one."""
    found, skip = [], False
    for word in words:
        if skip or word.startswith("-"):
            skip = word == "-o"
            continue
        found.append(word)
    return found


def _install(packages: list[str]) -> int:
    chosen: dict[str, str] = {}
    for word in packages:
        name, _, wanted = word.partition("=")
        if not _served(name):
            return complain(f"E: Unable to locate package {name}", 100)
        found = _candidate(name, wanted)
        if not found:
            return complain(f"E: Version '{wanted}' for '{name}' was not found", 100)
        chosen[name] = found
    with lasting() as state:
        known = state.setdefault("packages", {})
        for name, found in chosen.items():
            known[name] = {"version": found, "held": known.get(name, {}).get("held", False)}
            if name.endswith("-dkms"):
                known[name]["kernel"] = facts()["kernel"]
    from rehearsal.metal.tools import slurm

    slurm.installed(list(chosen))
    for name, found in chosen.items():
        print(f"Setting up {name} ({found}) ...")
    return 0


def _served(name: str) -> bool:
    if name in KUBERNETES:
        return bool(_minors())
    if any(name == served and file.exists() for served, file in PPAS.values()):
        return True
    return any(fnmatch.fnmatchcase(name, each) for each in SERVED)


def _archive(words: list[str]) -> int:
    file = PPAS[words[-1]][1]
    if "--remove" in words:
        file.unlink(missing_ok=True)
    else:
        file.write_text("Types: deb\nURIs: https://ppa.launchpadcontent.net/apptainer/ppa/ubuntu\n")
    return 0


def _minors() -> set[str]:
    """The minor versions of Kubernetes whose repositories are listed, with a key that is there."""
    found = set()
    for file in LISTS.glob("*.list"):
        for key, minor in re.findall(
            r"^deb \[signed-by=(\S+)\] https://pkgs\.k8s\.io/core:/stable:/v([0-9.]+)/deb/ /",
            file.read_text(),
            re.MULTILINE,
        ):
            if pathlib.Path(key).is_file():
                found.add(minor)
    return found


def _candidate(name: str, wanted: str) -> str:
    """The version that is installed; empty if there is no such."""
    if name in KUBERNETES:
        if not wanted:
            return f"{max(_minors())}.0-1.1"
        minor = ".".join(wanted.split(".")[:2])
        return wanted if minor in _minors() and re.fullmatch(r"\d+\.\d+\.\d+-\d+\.\d+", wanted) else ""
    return wanted or version(name) or NEWEST.get(name, "1.0-1")


def _remove(packages: list[str]) -> int:
    with lasting() as state:
        for name in packages:
            state.setdefault("packages", {}).pop(name, None)
    return 0


def _mark(words: list[str]) -> int:
    verb, *names = words
    with lasting() as state:
        known = state.setdefault("packages", {})
        if verb == "showhold":
            print("\n".join(sorted(each for each, about in known.items() if about.get("held"))))
            return 0
        for name in names:
            if name not in known:
                return complain(f"E: Unable to locate package {name}\nE: No packages found", 100)
            known[name]["held"] = verb == "hold"
            print(f"{name} set on hold." if verb == "hold" else f"Canceled hold on {name}.")
    return 0


def _query(words: list[str]) -> int:
    """`-W -f=FORMAT PATTERN...`, with the fields of our callers: prints what matches, and ends with 1 if not all do."""
    layout = next(word[3:] for word in words if word.startswith("-f=")).replace("\\n", "\n")
    patterns = [word for word in words if not word.startswith("-")]
    with lasting() as state:
        known = dict(state.get("packages", {}))
    status = 0
    for pattern in patterns:
        found = [name for name in known if fnmatch.fnmatchcase(name, pattern)]
        for name in found:
            line = layout.replace("${Package}", name).replace("${Version}", known[name]["version"])
            line = line.replace("${db:Status-Want}", "hold" if known[name].get("held") else "install")
            print(line.replace("${db:Status-Status}", "installed"), end="")
        if not found:
            status = complain(f"dpkg-query: no packages found matching {pattern}", 1)
    return status
