"""What the kernel says of processes, in /proc: their descendants, what stopped them, their memory, when they began."""

import os
from pathlib import Path


def tree(pid: int) -> list[int]:
    """The pid itself and those of all its descendants that run now."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and (seen := stat(int(entry.name))) is not None:
            children.setdefault(seen[1], []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found.extend(children.get(parent, ()))
    return found


def halted(pid: int) -> dict[int, str]:
    """Those of the process and its descendants that a signal has stopped (SIGSTOP), by pid, with their names."""
    states = {each: stat(each) for each in tree(pid)}
    stopped = [each for each, seen in states.items() if seen is not None and seen[0] in "Tt"]
    return {each: Path(f"/proc/{each}/comm").read_text().strip() for each in stopped}


def memory(pid: int) -> int:
    """Bytes of memory of a process and its descendants: proportional set size, shared pages counted once."""
    return sum(_pss(each) for each in tree(pid))


def _pss(pid: int) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))


def stat(pid: int) -> tuple[str, int, int] | None:
    """State letter, parent's pid and start time in clock ticks: fields 3, 4 and 22 of proc_pid_stat(5); None if nothing
    has this pid.
    """
    try:
        # Asked of every process several times a second, for which paths as objects are slow.
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123
            content = file.read(1024)
    except OSError:
        return None
    fields = content[content.rindex(b")") + 2 :].split()
    return fields[0].decode(), int(fields[1]), int(fields[19])


def boot_id() -> str:
    """Another one after each start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
