"""Extensions of the rehearsal for gpucluster: its containers, its account, locations of vendors' files."""

from pathlib import Path

from rehearsal.images import s3sync
from rehearsal.images.kyverno import controller as kyverno
from rehearsal.kubelet.images import Row
from rehearsal.particulars import Particulars
from rehearsed import (
    account,
    efa_counters,
    ending,
    file_system,
    follow_up,
    gate,
    losses,
    registry,
    run_watch,
    saves,
    scripts,
    secrets,
    sensors,
    showing,
    staging,
    tracking,
    trainer,
    triton,
    vllm,
)


def make(command: str, stack: str, flag: str = "") -> str:
    """A command of the rehearsal as the Makefile has it."""
    return f"make {command} STACK={stack}{flag and f' {flag.upper()}=1'}"


def looks(stack: str, prometheus: str, proxy: str) -> list[str]:
    """How a person sees the stack's dashboards with what its rehearsed Prometheus knows."""
    return [f"http_proxy={proxy} make dashboards STACK={stack} PROMETHEUS={prometheus}"]


PROGRAM = Particulars(
    images=(
        Row(s3sync.REPOSITORY, saves.sync),
        Row(r".*/kyverno/kyverno", kyverno.excepting("signed-images"), container="kyverno"),
        Row(r"(.*/)?vllm(-openai)?(/.*)?|.*/vllm/.*", vllm.run, port=vllm.port),
        Row(r".*", vllm.run, command="vllm", port=vllm.port),
        Row(r".*", efa_counters.run, container="efa"),
        Row(r"(.*/)?tritonserver", triton.run, port=triton.port),
        Row(r".*", gate.run, container="gate"),
        Row(r".*", staging.run, container="stage"),
        Row(r".*", saves.beside, container="saves"),
        Row(r"(.*/)?(postgres|mysql)", tracking.dump, container="dump"),
        Row(r".*", follow_up.run, container="ask"),
        Row(r".*", follow_up.run, container="expire"),
        Row(r".*", scripts.run, container="run-watch"),
        Row(r".*", scripts.run, container="upload"),
        Row(r".*", scripts.run, container="isolation"),
        Row(r".*", scripts.run, container="volumes-end"),
        Row(r".*", sensors.run, container="sensors"),
        Row(r".*", file_system.run, container="file-system"),
        Row(r".*", trainer.run, container="pytorch", complaint=trainer.complaint),
        Row(r".*", trainer.run, command="torchrun", complaint=trainer.complaint),
    ),
    absent=registry.absent,
    account=account.content,
    secrets=secrets.secrets,
    typed=make,
    looks=looks,
    loses=losses.loses,
    failed=run_watch.failed,
    shows=showing.shows,
    outlive=ending.outlive,
    upstream=Path("../shared/upstream"),
)
