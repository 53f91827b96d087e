"""What a machine must have so that hosts can be rehearsed on it."""

import os
import shutil
import subprocess

NEEDED = {
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ip": "iproute2",
    "unshare": "util-linux",
    "sysctl": "procps",
    "sudo": "sudo",
    "systemd-escape": "systemd",
}
"""Tools, and the packages of Debian and Ubuntu that bring them."""
OF_USERS = {"newuidmap": "uidmap"}
"""What anybody but root needs besides: programs that map a range of ids of /etc/subuid."""
OTHERWISE = (
    "run this as root; anybody else takes a range of ids in /etc/subuid and /etc/subgid, and on Ubuntu sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0"
)


def missing() -> str | None:
    """In one sentence what this machine lacks to rehearse hosts; None if nothing."""
    needed = NEEDED | OF_USERS if os.geteuid() else NEEDED
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    packages = sorted({package for tool, package in needed.items() if shutil.which(tool, path=path) is None})
    if packages:
        return f"rehearsed hosts need {', '.join(packages)}: apt-get install {' '.join(packages)} (rehearsal/apt.txt)"
    done = subprocess.run([*unshare(), "true"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    remedy = OTHERWISE if os.geteuid() else "this container must be privileged"
    return f"rehearsed hosts need network and mount namespaces, which this machine refuses ({why}): {remedy}"


def unshare() -> list[str]:
    """The words that begin a command in a new network and new mounts; anybody but root takes a user namespace."""
    own = ["--user", "--map-root-user", "--map-auto"] if os.geteuid() else []
    return ["unshare", *own, "--net", "--mount"]
