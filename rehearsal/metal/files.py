"""The files of a host before anybody prepared it: what its installer left, what its kernel shows, its tools."""

import os
import secrets
import shutil
import sys
from pathlib import Path

from rehearsal.metal.machine import Card, Machine
from rehearsal.metal.tools.machine import write

TOOLS = Path(__file__).resolve().parent / "tools"
OWN = ("etc", "var", "root", "home", "opt", "srv", "mnt", "boot", ".machine")
USERS = ("root:x:0:0:root:/root:/bin/bash", "sshd:x:101:65534::/run/sshd:/usr/sbin/nologin")
USER = 1000
"""The number of whom an installer makes."""
NOBODY = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin"
SSHD = """Port 22
AddressFamily inet
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
MaxStartups 100
PidFile /run/sshd.pid
"""
SYSCTLS = {
    "fs/file-max": "9223372036854775807",
    "fs/inotify/max_user_instances": "128",
    "fs/inotify/max_user_watches": "65536",
    "fs/nr_open": "1048576",
    "kernel/apparmor_restrict_unprivileged_userns": "1",
    "kernel/cap_last_cap": "40",
    "kernel/ngroups_max": "65536",
    "kernel/numa_balancing": "1",
    "kernel/panic": "0",
    "kernel/panic_on_oops": "0",
    "kernel/pid_max": "4194304",
    "net/core/rmem_max": "212992",
    "net/core/wmem_max": "212992",
    "net/core/somaxconn": "4096",
    "net/ipv4/ip_forward": "0",
    "net/ipv6/conf/all/forwarding": "0",
    "vm/max_map_count": "65530",
    "vm/overcommit_memory": "0",
    "vm/panic_on_oom": "0",
    "vm/swappiness": "60",
}
"""Parameters of Linux 6.8 and their values after an installation of Ubuntu 24.04 (kernel, admin-guide/sysctl)."""


def lay(disk: Path, machine: Machine, authorized: str, host_key: Path) -> None:
    """Write a new host's files below `disk`."""
    for name in (*OWN, "usr/bin", "usr/sbin", "usr/local/lib", "usr/local/sbin", "work", "new", "sys", "kernel/sys"):
        (disk / name).mkdir(parents=True, exist_ok=True)
    (disk / "root").chmod(0o700)
    _etc(disk / "etc", machine)
    _ssh(disk, machine.user, authorized, host_key)
    _kernel(disk / "kernel", machine)
    _sys(disk / "sys", machine)
    for name in ("log", "lib/kubelet", "lib/dpkg", "tmp", "cache"):
        (disk / "var" / name).mkdir(parents=True, exist_ok=True)
    (disk / "var/run").symlink_to("/run")
    write(str(disk / ".machine/facts"), machine.facts())
    _tools(disk)
    if machine.user != "root" and os.geteuid():
        _sudo_of_root(disk / "usr")


def _sudo_of_root(usr: Path) -> None:
    """Copy sudo, so that it belongs to the host's root, who may be any user of this machine."""
    for name in ("bin/sudo", "libexec/sudo"):
        (usr / name).parent.mkdir(parents=True, exist_ok=True)
        _copied(Path("/usr") / name, usr / name)
    (usr / "bin/sudo").chmod(0o4755)


def _etc(etc: Path, machine: Machine) -> None:
    for name in ("modules-load.d", "modprobe.d", "sysctl.d", "systemd/system", "security/limits.d", "apt/apt.conf.d"):
        (etc / name).mkdir(parents=True)
    for name in ("apt/sources.list.d", "udev/rules.d", "chrony/sources.d", "kubernetes"):
        (etc / name).mkdir(parents=True, exist_ok=True)
    for name in ("ld.so.cache", "alternatives", "localtime"):
        _copied(Path("/etc") / name, etc / name)
    own = [] if machine.user == "root" else [machine.user]
    users = [*USERS, *(f"{user}:x:{USER}:{USER}::/home/{user}:/bin/bash" for user in own), NOBODY]
    (etc / "passwd").write_text("\n".join(users) + "\n")
    (etc / "group").write_text(
        "\n".join(["root:x:0:", *(f"{user}:x:{USER}:" for user in own), "nogroup:x:65534:"]) + "\n"
    )
    (etc / "shadow").write_text("".join(f"{user}:*:19000:0:99999:7:::\n" for user in ("root", *own)))
    _sudo(etc, own)
    (etc / "hostname").write_text(machine.name + "\n")
    (etc / "hosts").write_text(f"127.0.0.1 localhost\n{machine.address} {machine.name}\n")
    (etc / "nsswitch.conf").write_text("passwd: files\ngroup: files\nshadow: files\nhosts: files\n")
    (etc / "machine-id").write_text(secrets.token_hex(16) + "\n")
    (etc / "os-release").write_text(f'ID={machine.system}\nVERSION_ID="{machine.release}"\n')
    swap = "/swap.img none swap sw 0 0\n" if machine.swap else ""
    (etc / "fstab").write_text(f"/dev/sda2 / ext4 defaults 0 1\n{swap}")


def _sudo(etc: Path, users: list[str]) -> None:
    """Users whom an installer made may do all without a password, as cloud images have it."""
    (etc / "sudoers").write_text("".join(f"{user} ALL=(ALL) NOPASSWD:ALL\n" for user in users))
    (etc / "sudoers").chmod(0o440)
    (etc / "pam.d").mkdir()
    permit = "".join(f"{kind} required pam_permit.so\n" for kind in ("auth", "account", "password", "session"))
    (etc / "pam.d/sudo").write_text(permit)


def _copied(source: Path, target: Path) -> None:
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True)
    elif source.exists():
        shutil.copy2(source, target, follow_symlinks=True)


def _ssh(disk: Path, user: str, authorized: str, host_key: Path) -> None:
    etc = disk / "etc/ssh"
    etc.mkdir(parents=True, exist_ok=True)
    (etc / "sshd_config").write_text(SSHD)
    shutil.copy(host_key, etc / "ssh_host_ed25519_key")
    (etc / "ssh_host_ed25519_key").chmod(0o600)
    home = disk / ("root" if user == "root" else f"home/{user}")
    keys = home / ".ssh"
    keys.mkdir(mode=0o700, parents=True, exist_ok=True)
    (keys / "authorized_keys").write_text(authorized)
    (keys / "authorized_keys").chmod(0o600)


def _kernel(kernel: Path, machine: Machine) -> None:
    """What /proc shows: no module of ours, the swap that an installer makes, the memory of the model."""
    (kernel / "modules").write_text("nvme 61440 3 - Live 0x0000000000000000\nxfs 2486272 0 - Live 0x0000000000000000\n")
    header = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    swap = "/swap.img                               file\t\t8388604\t\t0\t\t-2\n" if machine.swap else ""
    (kernel / "swaps").write_text(header + swap)
    (kernel / "cmdline").write_text(machine.command_line + "\n")
    # The kernel and the firmware keep about 1.5 %: free(1) of a server with 2048 GiB shows 2015.
    total = machine.memory_gib * 1048576 * 985 // 1000
    (kernel / "meminfo").write_text(f"MemTotal:       {total} kB\nMemFree:        {total // 2} kB\n")
    for name, value in SYSCTLS.items():
        path = kernel / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value + "\n")
    (kernel / "sys/kernel/random").mkdir()
    (kernel / "sys/kernel/random/boot_id").write_text("")
    (kernel / "sys/kernel/osrelease").write_text(machine.kernel + "\n")


def _sys(sys_: Path, machine: Machine) -> None:
    """What /sys shows: the firmware's serial, cgroup v2, network cards."""
    (sys_ / "class/dmi/id").mkdir(parents=True)
    (sys_ / "class/dmi/id/product_serial").write_text(machine.serial + "\n")
    (sys_ / "fs/cgroup").mkdir(parents=True)
    (sys_ / "fs/cgroup/cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids rdma misc\n")
    for number, card in enumerate(machine.cards):
        (sys_ / "bus/pci/devices" / card.pci / "net" / card.name).mkdir(parents=True)
        (sys_ / "bus/pci/devices" / card.pci / "net" / card.name / "mtu").write_text("1500\n")
        (sys_ / "class/net" / card.name).mkdir(parents=True)
        if card.rdma and not card.infiniband:
            _port(sys_ / "bus/pci/devices" / card.pci / f"infiniband/mlx5_{number}/ports/1", card)
            # What the kernel makes of a directory that is made there (drivers/infiniband/core/cma_configfs.c).
            port = sys_ / f"kernel/config/rdma_cm/mlx5_{number}/ports/1"
            port.mkdir(parents=True)
            (port / "default_roce_tos").write_text("0\n")
        if card.infiniband:
            _port(sys_ / "bus/pci/devices" / card.pci / f"infiniband/mlx5_{number}/ports/1", card)
        if card.vfs:
            (sys_ / "bus/pci/devices" / card.pci / "sriov_totalvfs").write_text(f"{card.vfs}\n")
    if any(name.startswith("doca-") for name in machine.packages):
        mode = sys_ / "module/ib_core/parameters/netns_mode"
        mode.parent.mkdir(parents=True)
        mode.write_text("N\n" if "ib_core.netns_mode=0" in machine.command_line else "Y\n")


def _port(port: Path, card: Card) -> None:
    """Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband; drivers/infiniband/core/sysfs.c (state, rate)."""
    port.mkdir(parents=True)
    (port / "state").write_text(f"{'4: ACTIVE' if card.gbit_per_s else '1: DOWN'}\n")
    (port / "rate").write_text(f"{card.gbit_per_s or 10} Gb/sec (4X{' NDR' if card.gbit_per_s == 400 else ''})\n")


def _tools(disk: Path) -> None:
    """Each tool at its usual place, as a program of one line that calls its module."""
    for module, name in ((module, name) for module, names in PROGRAMS.items() for name in names):
        program = disk / "usr" / ("sbin" if name in _SBIN else "bin") / name
        program.write_text(
            f"#!{Path(sys.base_prefix) / 'bin' / 'python3'} -IS\nimport sys\nsys.path.insert(0, '/.rehearsal')\n"
            f"import rehearsal.metal.tools.{module} as tool\nsys.exit(tool.main({name!r}, sys.argv[1:]))\n"
        )
        program.chmod(0o755)


PROGRAMS = {
    "packages": ("apt-get", "apt-mark", "add-apt-repository", "dpkg-query", "containerd"),
    "kernel": ("modprobe", "modinfo", "lsmod", "uname", "swapoff", "swapon"),
    "units": ("systemctl", "systemd-detect-virt"),
    "drives": ("lsblk", "df", "wipefs", "blkid", "mdadm", "mkfs.xfs"),
    "lustre": ("lctl", "lfs"),
    "lustre_server": ("mkfs.lustre", "tunefs.lustre"),
    "zfs": ("zpool", "zgenhostid"),
    "nfs": ("exportfs",),
    "gpus": ("nvidia-smi",),
    "pci": ("lspci", "setpci", "udevadm"),
    "dcb": ("dcb",),
    "firmware": ("mstconfig",),
    "routing": ("ip",),
    "clock": ("chronyc",),
    "web": ("curl",),
    "kubernetes": ("kubeadm", "kubectl", "kubelet"),
    "runtime": ("crictl",),
    "slurm": ("mariadb", "sacctmgr", "scontrol"),
}
"""The tools that each module is."""
_SBIN = {
    *("ip", "modprobe", "modinfo", "lsmod", "swapoff", "swapon", "wipefs", "blkid", "mdadm", "mkfs.xfs", "setpci"),
    *("dcb", "lctl", "mkfs.lustre", "tunefs.lustre", "zpool", "zgenhostid", "exportfs"),
}
