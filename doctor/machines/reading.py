"""What a machine says of itself: one connection, one script on standard input, nothing written."""

import shlex
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.site import HostPlan, SitePlan

SCRIPT = Path(__file__).parents[2] / "node" / "doctor" / "look.sh"
CONNECT_SECONDS, ANSWER_SECONDS = 10, 60

REASONS = (
    ("Host key verification failed", "its host key differs from the stack file's"),
    ("Permission denied", "it rejects this SSH key"),
    ("password is required", "its user needs a password for sudo"),
    ("timed out", "it does not answer"),
    ("No route to host", "it does not answer"),
    ("Connection refused", "its SSH server does not run"),
    ("closed by", "it closed the connection"),
)
"""Words of ssh(1), and what they mean here: machines that fail for one reason are told together."""


class UnreadError(Exception):
    """A machine that could not be asked, and why."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A machine as it says it is. `disks` are those that are there, by path, with where they are mounted; `ports` are
    state and Gb/s by PCI address, `mtus` the bytes that their interfaces take, and `classes` the priority of each DSCP
    (`26:3`) and the priorities that are paused (`3:on`). `seconds_off` is how much its clock is ahead of ours. `units`
    are what systemd says of those that it starts at boot (`failed`).
    """

    serial: str | None = None
    kernel: str | None = None
    memory_gib: int | None = None
    seconds_off: float = 0.0
    gpus: tuple[tuple[str, str], ...] = ()
    disks: dict[str, str] = field(default_factory=dict)
    cards: frozenset[str] = frozenset()
    ports: dict[str, tuple[str, int]] = field(default_factory=dict)
    nics: frozenset[str] = frozenset()
    mtus: dict[str, int] = field(default_factory=dict)
    classes: dict[str, frozenset[str]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ssh:
    """ssh(1), with a private key of ours or those that it finds by itself; `through` are words before it."""

    key: Path | None = None
    through: Sequence[str] = ()

    def ask(self, site: SitePlan, host: HostPlan, units: Sequence[str] = ()) -> Seen:
        """What the machine says, and how the `units` of it are. Raises UnreadError."""
        begun = time.time()
        said = self.run(site, host, _text(host, units))
        return parsed(said, begun, time.time())

    def run(self, site: SitePlan, host: HostPlan, script: str, seconds: float = ANSWER_SECONDS) -> str:
        """What a script of ours prints there, which ends with a line `end`. Raises UnreadError."""
        with tempfile.NamedTemporaryFile("w", prefix="known-") as known:
            # The one key that the inventory has for it: whatever a person's own file says of the address.
            name = host.address if site.port == 22 else f"[{host.address}]:{site.port}"
            known.write(f"{name} {host.host_key}\n")
            known.flush()
            try:
                done = subprocess.run(
                    [*self.through, *self._words(site, host, known.name)],
                    input=script,
                    capture_output=True,
                    text=True,
                    timeout=seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise UnreadError(f"it did not answer within {seconds:g} s") from None
        if not done.stdout.endswith("end\n"):
            raise UnreadError(_reason(done.stderr))
        return done.stdout

    def _words(self, site: SitePlan, host: HostPlan, known: str) -> list[str]:
        options = {
            "BatchMode": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": known,
            "GlobalKnownHostsFile": "/dev/null",
            "HostKeyAlgorithms": _algorithms(host.host_key),
            "ConnectTimeout": str(CONNECT_SECONDS),
        }
        given = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        # The serial number is root's to read.
        as_root = "bash -s" if site.user == "root" else "sudo -n bash -s"
        key = ["-i", str(self.key), "-o", "IdentitiesOnly=yes"] if self.key else []
        return ["ssh", "-p", str(site.port), *given, *key, f"{site.user}@{host.address}", as_root]


def _algorithms(host_key: str) -> str:
    """Those of the key's type: a server that has several shows the one that is asked for."""
    kind = host_key.partition(" ")[0]
    return "rsa-sha2-512,rsa-sha2-256" if kind == "ssh-rsa" else kind


def _text(host: HostPlan, units: Sequence[str]) -> str:
    told = {
        "DISKS": " ".join(host.disks),
        "RAILS": " ".join(host.rails),
        "NIC": host.management_nic or "",
        "UNITS": " ".join(units),
    }
    return "".join(f"LOOK_{name}={shlex.quote(value)}\n" for name, value in told.items()) + SCRIPT.read_text("utf-8")


def _reason(said: str) -> str:
    for words, reason in REASONS:
        if words in said:
            return reason
    return f"ssh says: {(said.strip().splitlines() or ['nothing'])[-1]}"


def parsed(text: str, asked: float, answered: float) -> Seen:
    """The script's lines. A clock is right that shows a time between the question and a late answer, as ours tells
    both in seconds since 1970."""
    lines = [line.partition(" ")[::2] for line in text.splitlines()]

    def every(word: str) -> list[str]:
        return [value.strip() for name, value in lines if name == word]

    def one(word: str) -> str | None:
        return next(iter(every(word)), None)

    clock = one("seconds")
    return Seen(
        serial=one("serial"),
        kernel=one("kernel"),
        memory_gib=int(one("memory") or 0) or None,
        seconds_off=float(clock) - min(max(float(clock), asked), answered) if clock else 0.0,
        gpus=tuple(
            (name.strip(), driver.strip()) for name, _, driver in (each.partition(",") for each in every("gpu"))
        ),
        disks={path: where.strip() for path, _, where in (each.partition(" ") for each in every("disk"))},
        cards=frozenset(every("card")),
        ports={words[0]: (words[1], int(words[2])) for each in every("port") if len(words := each.split()) == 3},
        nics=frozenset(every("nic")),
        mtus={words[0]: int(words[1]) for each in every("mtu") if len(words := each.split()) == 2},
        classes={
            rail: frozenset(word for word in " ".join(told).split() if word != rail)
            for rail in every("card")
            if (told := [each for each in (*every("dscp"), *every("pfc")) if each.startswith(f"{rail} ")])
        },
        units={words[0]: words[1] for each in every("unit") if len(words := each.split()) == 2},
    )
