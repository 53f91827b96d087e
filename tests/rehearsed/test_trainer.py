"""What a training process finds in its image and on its node: the script, NCCL's plugin, EFA devices (LF03, LF04)."""

import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cloud.seen.network import End, Groups
from rehearsal.images import nccl
from rehearsal.images.contents import stock
from rehearsal.images.table import known
from rehearsal.kubelet.allotted import Allotted
from rehearsal.kubelet.attaching import Attachments
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.orders import Orders
from rehearsal.kubelet.program import TIME_SCALE, Launch, Mount
from rehearsed import PROGRAM, ganged, registry, saves, trainer

OWN = "registry.example.com/ml/llama-trainer:1.0"
NVIDIA = "nvcr.io/nvidia/pytorch"
DIGEST = f"@sha256:{'a' * 64}"
GANG = {"PET_NNODES": "2", "NCCL_NET": "AWS Libfabric", "NCCL_NET_PLUGIN": "ofi", "FI_PROVIDER": "efa"}
SPEAKING = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}
PROVIDER = "NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)"

ITSELF = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-efa"}]}]
EFA_GROUP = {"GroupId": "sg-efa", "IpPermissions": ITSELF, "IpPermissionsEgress": ITSELF}


ELASTIC = {**GANG, "PET_NNODES": "1:3", "PET_MAX_RESTARTS": "1"}


class Gang:
    """Ranks of a job, one in each pod, whose kubelets look when they are woken."""

    def __init__(self, directory: Path, env: Mapping[str, str] = GANG) -> None:
        self.contents, self._allotted, self._env, self._directory = (
            Contents(directory / "v.json"),
            Allotted(),
            env,
            directory,
        )
        self.woken: list[str] = []
        self.stopped: list[str] = []

    def start(self, rank: int, job: str = "sft") -> Any:
        name = f"{job}-{rank}"
        world: Any = SimpleNamespace(
            contents=self.contents,
            allotted=self._allotted,
            backends=SimpleNamespace(remove=lambda _, pod, *__: self.stopped.append(pod), answer=lambda *_: None),
            hosts=SimpleNamespace(get=lambda _: None),
            attached=Attachments(),
        )
        labels = {"training.kubeflow.org/job-name": job}
        pod = {"metadata": {"name": name, "namespace": "x", "labels": labels}, "spec": {"volumes": []}}
        env = {**self._env, "RANK": str(rank), "CHECKPOINT_DIR": "/checkpoints"}
        every = {"CHECKPOINT_EVERY_SECONDS": "20", "CHECKPOINT_WITHIN_SECONDS": "20"}
        mount = Mount("/checkpoints", "csi:x:fs-1", name="checkpoints")
        place = self._directory / name
        words = ["python", "/opt/x.py"]
        launch = Launch(
            world, pod, {"name": "pytorch", "image": OWN}, "n", ["torchrun"], words, {**env, **every}, [mount], place,
            lambda: self.woken.append(name), time.monotonic(),
        )  # fmt: skip
        assert saves.begin(launch) is None
        return trainer.Trainer(launch)

    def log(self, rank: int) -> list[str]:
        return (self._directory / f"sft-{rank}" / "log").read_text().splitlines()


LATER = ganged.WATCHDOG_SECONDS / TIME_SCALE + 1


def test_ranks_wait_for_one_that_is_gone_until_the_watchdog_ends_them_too(tmp_path: Path) -> None:
    """KJ08: each failure restarts every pod. What begins anew meanwhile waits for the others, and is not ended."""
    gang = Gang(tmp_path)
    first, second, other = gang.start(0), gang.start(1), gang.start(0, "other")
    now = time.monotonic()
    assert [each.exited(now) for each in (first, second)] == [None, None]
    second.stop()
    assert gang.woken == ["sft-0"]
    again, saved = gang.start(1), gang.contents.under("csi:x:fs-1", "")
    assert first.exited(now + LATER - 2) is None
    assert gang.contents.under("csi:x:fs-1", "") == saved, "no step passes, so nothing is saved"
    assert first.next_change(now) == pytest.approx(now + LATER - 1, abs=1)
    end = first.exited(now + LATER)
    assert (end.code, end.message) == (1, ganged.WATCHDOG.format(rank=0))
    assert gang.stopped == ["sft-1", "sft-0"], "what it answered and told is over"
    assert [each.exited(now + 3 * LATER) for each in (again, other)] == [None, None], "it is nobody's loss once more"


def test_torchrun_starts_the_ranks_of_an_elastic_run_anew_as_often_as_it_may(tmp_path: Path) -> None:
    gang = Gang(tmp_path, ELASTIC)
    first, second, third = (gang.start(each) for each in range(3))
    now = time.monotonic()
    third.stop()
    assert first.exited(now + LATER) is None
    assert second.exited(now + LATER) is None
    assert gang.log(0)[-3:] == [
        ganged.WATCHDOG.format(rank=0),
        "[default] Worker group FAILED. 1/1 attempts left; will restart worker group",
        "resumed from /checkpoints/step-0: step 0",
    ]
    second.stop()
    assert first.exited(now + 2 * LATER).code == 1, "no attempt is left"


def test_the_end_of_the_rehearsal_is_no_loss(tmp_path: Path) -> None:
    gang = Gang(tmp_path)
    first, second = gang.start(0), gang.start(1)
    second.close()
    assert (gang.woken, first.exited(time.monotonic() + 9 * LATER)) == ([], None)
    assert ganged.restarts(["torchrun", "--max-restarts=2", "x.py"], {}) == 2
    assert ganged.restarts(["torchrun", "x.py"], {}) == 0


class Rank:
    """A container that ran: how it ended and what it logged."""

    def __init__(
        self,
        directory: Path,
        image: str = OWN,
        script: str = "/workspace/train.py",
        env: Mapping[str, str] = GANG,
        *,
        efa: int = 32,
        files: Mapping[str, str] | None = None,
        written: tuple[str, ...] = (),
        group: Mapping[str, Any] = EFA_GROUP,
    ) -> None:
        contents = Contents(directory / "volumes.json")
        contents.add("csi:x:fs-1", dict.fromkeys(("sample.bin", *written), 1))
        configmap = {"data": files} if files is not None else None
        self.allotted = Allotted()
        world: Any = SimpleNamespace(
            contents=contents,
            find=lambda *_: configmap,
            allotted=self.allotted,
            orders=Orders(directory / "orders.json"),
            hosts=SimpleNamespace(get=lambda _: SimpleNamespace(primary=End(("sg-efa",), ("10.0.0.5",)))),
            attached=Attachments(),
            aws=SimpleNamespace(groups=lambda: Groups.of([group])),
        )
        volume = {"name": "data", **({"configMap": {"name": "code"}} if files is not None else {})}
        pod = {"metadata": {"name": "any", "namespace": "x"}, "spec": {"volumes": [volume]}}
        spec = {"name": "pytorch", "image": image, "resources": {"limits": {"nvidia.com/gpu": "8", nccl.EFA: str(efa)}}}
        mount = Mount("/data", "csi:x:fs-1", name="data")
        argv = ["torchrun", script, "--config", "/c.yaml"]
        launch = Launch(world, pod, spec, "n", argv[:1], argv[1:], env, [mount], directory / "c", print, 0.0)
        self.exit = trainer.run(launch).exited(1e9)
        self.log = (directory / "c" / "log").read_text().splitlines()

    @property
    def ended(self) -> str:
        return self.exit.message if self.exit else "runs"


@pytest.mark.parametrize(
    ("image", "script", "there"),
    [
        (OWN, "/workspace/train.py", True),
        (OWN, "/workspace/other.py", False),
        (f"{NVIDIA}:26.03-py3{DIGEST}", "/workspace/train.py", False),
        (f"{NVIDIA}:26.03-py3", "/workspace/examples/x/train.py", True),
        (f"{NVIDIA}:26.03-py3", "/opt/train.py", True),
        ("pytorch/pytorch:2.11.0", "/workspace/train.py", False),
        ("team/unknown:1", "/workspace/train.py", True),
    ],
)
def test_a_script_that_is_not_in_the_image_is_pythons_error_lf03(
    tmp_path: Path, image: str, script: str, there: bool
) -> None:
    rank = Rank(tmp_path, image, script, {"PET_NNODES": "2"})
    said = f"python: can't open file '{script}': [Errno 2] No such file or directory"
    assert rank.ended == ("runs" if there else said)
    assert ("is not known here" in rank.log[0]) is (image == "team/unknown:1")


def test_a_script_on_a_volume_is_what_somebody_wrote_there_lf03(tmp_path: Path) -> None:
    script = "/data/train.py"
    assert Rank(tmp_path / "b", script=script, written=("train.py",)).ended == "runs"
    assert Rank(tmp_path / "c", script=script, files={"train.py": ""}).ended == "runs"
    copied = Rank(tmp_path / "e", script=script)
    assert copied.ended == "runs"
    assert "what is in the dataset is not known here: /data/train.py is taken to be there" in copied.log
    assert "No such file" in Rank(tmp_path / "d", script=script, files={"other.py": ""}).ended


def test_modules_and_relative_paths_are_not_looked_up_lf03() -> None:
    assert trainer.script_of(["torchrun", "-m", "trainer", "/x.py"]) is None
    assert trainer.script_of(["torchrun", "train.py"]) is None
    assert trainer.script_of(["/opt/bin/torchrun", "--max-restarts=0", "/a/../x.py"]) == "/x.py"
    assert trainer.script_of(["sh", "-c", "torchrun /x.py"]) is None


@pytest.mark.parametrize(
    ("image", "env", "efa", "provider", "says"),
    [
        (OWN, GANG, 32, "efa", PROVIDER),
        (f"{NVIDIA}:26.03-py3", GANG, 32, "efa", PROVIDER),
        (f"{NVIDIA}:25.11-py3", {**GANG, "NCCL_NET_PLUGIN": "aws-ofi"}, 32, "efa", PROVIDER),
        (f"{NVIDIA}:25.11-py3", GANG, 32, None, "Failed to initialize any NET plugin"),
        (f"{NVIDIA}:26.06-py3", GANG, 32, None, "Could not find: libnccl-net-ofi.so"),
        (f"{NVIDIA}:26.06-py3", {"FI_PROVIDER": "efa"}, 32, "Socket", "NET/Socket : Using"),
        (f"{NVIDIA}:26.03-py3", {"FI_PROVIDER": "efa"}, 32, "Socket", "Could not find: libnccl-net.so"),
        (f"{NVIDIA}:26.03-py3", {"NCCL_NET_PLUGIN": "ofi"}, 32, "efa", PROVIDER),
        (f"{NVIDIA}:26.03-py3", {"NCCL_NET_PLUGIN": "ofi"}, 0, "Socket", "No eligible providers were found"),
        (f"{NVIDIA}:26.03-py3", GANG, 0, None, "No eligible providers were found"),
        (f"{NVIDIA}:26.03-py3", GANG, 4, "efa", "(found 4 nics)"),
        (f"{NVIDIA}:26.03-py3", {**GANG, "FI_PROVIDER": "tcp"}, 32, "tcp", "Selected provider is tcp"),
        (f"{NVIDIA}:26.03-py3", {**GANG, "NCCL_NET": "Socket"}, 32, "Socket", "Using network Socket"),
        (f"{NVIDIA}:26.03-py3", {**GANG, "NCCL_NET": "IB"}, 32, None, "Failed to initialize any NET plugin"),
        (f"{NVIDIA}:26.03-py3", {"NCCL_NET_PLUGIN": "none"}, 32, "Socket", "Using network Socket"),
        ("pytorch/pytorch:2.11.0", GANG, 32, None, "Failed to initialize any NET plugin"),
    ],
)
def test_the_network_follows_image_environment_and_devices_lf04(
    image: str, env: Mapping[str, str], efa: int, provider: str | None, says: str
) -> None:
    found = nccl.choose(registry.inside(image), env, efa)
    assert found.provider == provider
    assert any(says in line for line in nccl.spoken(found, {**env, **SPEAKING}))


def test_a_rank_names_its_provider_if_it_is_let_speak_lf04(tmp_path: Path) -> None:
    """NCCL_DEBUG=WARN hides which network was taken; that there is none it says."""
    assert PROVIDER in Rank(tmp_path / "a", env={**GANG, **SPEAKING}).log
    assert not any("NCCL" in line for line in Rank(tmp_path / "b", env={**GANG, "NCCL_DEBUG": "WARN"}).log)
    assert not any("NCCL" in line for line in Rank(tmp_path / "c", env={**GANG, "NCCL_DEBUG_SUBSYS": "GRAPH"}).log)
    lost = Rank(tmp_path / "d", image="pytorch/pytorch:2.11.0", script="/x.py", env={**GANG, "NCCL_DEBUG": "WARN"})
    assert "NCCL WARN Failed to initialize any NET plugin" in lost.log
    assert "the image has no libnccl-net-ofi.so" in lost.ended


def pod(image: str, env: Mapping[str, str], name: str = "one", efa: int = 32) -> dict[str, Any]:
    words = [{"name": key, "value": value} for key, value in env.items()]
    container = {"name": "pytorch", "image": image, "env": words, "resources": {"limits": {nccl.EFA: str(efa)}}}
    meta = {"name": name, "namespace": "training", "labels": {"training.kubeflow.org/job-name": "sft"}}
    return {"metadata": meta, "spec": {"containers": [container]}, "status": {"phase": "Running"}}


def test_up_and_status_complain_of_a_gang_that_has_efa_and_trains_over_sockets_lf04() -> None:
    """A program that takes NCCL_NET away from its pods: they run, over one TCP connection."""
    images, quiet = known(PROGRAM.images), {"PET_NNODES": "2", "FI_PROVIDER": "efa"}
    gang = [pod(f"{NVIDIA}:26.06-py3", quiet, name) for name in ("sft-master-0", "sft-worker-0")]
    assert images.complaints(gang) == [
        "run training/sft trains over Socket, not over the 32 EFA devices of each pod: "
        "NCCL_NET_PLUGIN=spcx is no plugin for EFA"
    ]
    assert images.complaints([pod(f"{NVIDIA}:26.03-py3", GANG)]) == []
    assert images.complaints([pod(f"{NVIDIA}:26.06-py3", {**quiet, "PET_NNODES": "1"})]) == []
    assert images.complaints([pod(f"{NVIDIA}:26.06-py3", quiet, efa=0)]) == []
    assert images.complaints([{**gang[0], "status": {"phase": "Pending"}}]) == []


def test_what_a_stack_file_says_holds_of_its_owners_images_only_lf04(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.a.yaml").write_text(
        "config:\n  gpucluster:catalogue:\n    images:\n"
        f"      - {{name: team/on, like: '{NVIDIA}:26.06..', lacks: [], netPlugin: ofi, holds: [/w/a.py]}}\n"
        f"      - {{name: team/off, like: '{NVIDIA}:26.03..26.03', lacks: [aws-ofi-nccl]}}\n"
        f"      - {{name: '{NVIDIA}', netPlugin: ofi}}\n"
        "      - {name: 'reg:5000/team/some:1.2..1.9', netPlugin: aws-ofi}\n"
        "      - {name: 'team/newer:2.1..', netPlugin: ofi}\n"
    )
    (tmp_path / "Pulumi.b.yaml").write_text("config: {gpucluster:catalogue: [")
    on, off = registry.inside("team/on:7", tmp_path), registry.inside(f"team/off{DIGEST}", tmp_path)
    assert on is not None
    assert on.plugins == {"spcx", "ofi"}
    assert on.lacks("/w/b.py")
    assert not on.lacks("/w/a.py")
    assert off is not None
    assert off.plugins == frozenset()
    assert registry.inside("team/other:1", tmp_path) is None
    tags = ("1.1", "1.2", "1.9.3", "1.10", "latest")
    found = [registry.inside(f"reg:5000/team/some:{tag}", tmp_path) for tag in tags]
    assert [each is not None for each in found] == [False, True, True, False, False]
    newer = [registry.inside(f"team/newer:{tag}", tmp_path) for tag in ("2.0", "2.1", "30.1")]
    assert [each is not None for each in newer] == [False, True, True]
    assert registry.inside(f"{NVIDIA}:26.06-py3", tmp_path) == stock(f"{NVIDIA}:26.06-py3")


@pytest.mark.parametrize("direction", ["IpPermissions", "IpPermissionsEgress"])
def test_ranks_of_two_nodes_end_where_their_group_lets_efa_not_pass(direction: str, tmp_path: Path) -> None:
    """A rule for all addresses is none for EFA: terraform modules that write it leave NCCL without a peer."""
    anywhere = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    group = {**EFA_GROUP, direction: anywhere}
    ended = Rank(tmp_path / "gang", group=group, written=("train.py",), script="/data/train.py").exit
    assert ended is not None
    assert "Unreachable remote (never received a response)" in ended.message
    alone = Rank(
        tmp_path / "alone", env={**GANG, "PET_NNODES": "1"}, group=group, written=("train.py",), script="/data/train.py"
    )
    assert alone.exit is None
