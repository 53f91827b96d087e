"""The kinds of failure: all of the sources' table, and what each does to what is shown."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.devices import cuda, daemons, host_engine, monitoring
from rehearsal.eks import repair
from rehearsal.eks.registration import Registration
from rehearsal.kubelet import faults, nodeobject, suffering
from rehearsal.kubelet.addresses import Addresses
from rehearsal.kubelet.allotted import Holder
from rehearsal.kubelet.faults import KINDS
from rehearsal.kubelet.lifecycle import HEARD_SECONDS, slept
from rehearsal.kubelet.orders import Fault
from rehearsal.kubelet.podrun import PodRun
from rehearsal.kubelet.program import TIME_SCALE, Exit, Program
from rehearsal.tests.inside.simulated import GPU, Node

HOLDER = Holder("ns", "p", "main")


def fault(kind: str, since: float = 0.0, gpu: int = 0, until: float | None = None, target: str = "") -> Fault:
    return Fault("a", kind, since, gpu, target, until)


def test_there_is_one_kind_for_each_row_of_the_table_v01() -> None:
    """V01: OOM, GPU, its memory, driver, NVLink, InfiniBand, mounts, memory, Ethernet, PCIe, NCCL, services.

    A slow GPU and a fabric manager that is down are found by measuring alone.
    """
    assert len(KINDS) == 12 + 2
    assert all(kind.source and kind.text for kind in KINDS.values())


def test_what_befell_one_gpu_is_not_told_of_another() -> None:
    hit = [fault("gpu-unavailable", gpu=3), fault("gpu-memory", gpu=4)]
    assert faults.gpu(hit, 0, 10.0) == faults.GpuState()
    assert (faults.gpu(hit, 3, 10.0).gone, faults.gpu(hit, 3, 10.0).xid) == (True, 79)
    memory = faults.gpu(hit, 4, 10.0)
    assert (memory.xid, memory.double_bit, memory.remapped_rows, memory.recent_xids) == (63, 1, 1, (48, 63))


def test_counters_go_on_while_a_failure_lasts_and_stay_where_it_was_healed() -> None:
    lasting, healed = [fault("pcie", 100.0)], [fault("pcie", 100.0, until=160.0)]
    assert [faults.gpu(lasting, 0, now).replays for now in (100.0, 160.0, 400.0)] == [0, 600, 3000]
    assert [faults.gpu(healed, 0, now).replays for now in (160.0, 400.0)] == [600, 600]
    links = faults.gpu([fault("nvlink", 0.0)], 0, 120.0)
    assert (links.link_errors, links.link_recoveries, links.xid) == (600, 2, 74)


def test_a_healed_xid_is_gone_and_an_old_one_leaves_the_window() -> None:
    assert faults.gpu([fault("gpu-driver", 0.0, until=9.0)], 0, 10.0) == faults.GpuState()
    old = faults.gpu([fault("gpu-driver", 0.0)], 0, 300.0)
    assert (old.xid, old.recent_xids) == (119, ())


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.condition and kind.gpu])
def test_eks_repair_knows_the_reason_of_each_condition(kind: str) -> None:
    """The agent's reasons are those for which the repair has an action."""
    condition, reason = KINDS[kind].condition, KINDS[kind].reason
    sick = repair.Sick("a", str(condition), reason, "2026-11-22T12:00:00Z")
    assert repair._treatment({}, sick)[1] == ("Reboot" if kind == "gpu-memory" else "Replace")


def test_the_plugin_offers_one_gpu_less_and_takes_it_back(tmp_path: Path) -> None:
    node = Node(tmp_path)
    daemons.nvidia_device_plugin(node.launch(spec={"name": "nvidia-device-plugin"}))
    (look,) = node.work.values()

    def told() -> tuple[str, str]:
        look()
        status = node.patches[-1]["status"]
        return status["capacity"][GPU], status["allocatable"][GPU]

    assert told() == ("8", "8")
    node.fail("gpu-unavailable", 1.0, gpu=3)
    assert told() == ("8", "7")
    node.world.allotted.take(node.host.node, node.pod("new", **{GPU: "4"}))
    assert sorted(node.world.allotted.holders(node.host.node, GPU)) == [0, 1, 2, 4]
    node.heal(2.0)
    assert told() == ("8", "8")
    count = len(node.patches)
    node.fail("pcie", 3.0, gpu=1)
    look()
    assert len(node.patches) == count


def test_the_agent_says_what_is_wrong_and_that_it_is_right_again(tmp_path: Path) -> None:
    node = Node(tmp_path)
    monitoring.agent(node.launch(spec={"name": "agent"}))
    (look,) = node.work.values()

    def told() -> dict[str, tuple[str, str]]:
        before = len(node.patches)
        look()
        return {
            each["type"]: (each["status"], each["reason"])
            for patch in node.patches[before:]
            for each in patch["status"]["conditions"]
        }

    assert {status for status, _ in told().values()} == {"True"}
    assert told() == {}
    node.fail("gpu-unavailable", 1.0)
    node.fail("ethernet-link", 1.0, target="ens6")
    assert told() == {
        "AcceleratedHardwareReady": ("False", "NvidiaXID79Error"),
        "NetworkingReady": ("False", "InterfaceNotUp"),
    }
    node.heal(2.0)
    assert told() == {
        "AcceleratedHardwareReady": ("True", "NvidiaGPUIsReady"),
        "NetworkingReady": ("True", "NetworkingIsReady"),
    }
    node.fail("pcie", 3.0)
    assert (told(), node.events) == ({}, ["NvidiaPCIeError"])


def test_gpus_whose_host_engine_is_away_for_a_minute_are_called_sick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ails a GPU goes first; a node without GPUs needs none; an engine that answers again mends it."""
    passed = [0.0]
    monkeypatch.setattr(monitoring, "time", SimpleNamespace(monotonic=lambda: passed[0]))
    node, plain = Node(tmp_path / "gpu"), Node(tmp_path / "plain", "m7i.2xlarge")
    for each in (node, plain):
        monitoring.agent(each.launch(spec={"name": "agent"}))

    def told(after: float, of: Node = node) -> list[tuple[str, str]]:
        passed[0], before = passed[0] + after, len(of.patches)
        (look,) = of.work.values()
        look()
        said = [each for patch in of.patches[before:] for each in patch["status"]["conditions"]]
        return [(each["status"], each["reason"]) for each in said if each["type"] == "AcceleratedHardwareReady"]

    assert told(60) == [("True", "NvidiaGPUIsReady")]
    assert told(1) == [("False", "DCGMError")]
    assert told(0, plain) == []
    node.fail("gpu-unavailable", 1.0)
    assert told(0) == [("False", "NvidiaXID79Error")]
    node.heal(2.0)
    node.pod("dcgm-server-x", host_engine.CONTAINER)
    assert told(0) == [("True", "NvidiaGPUIsReady")]
    node.pods.clear()
    assert told(60) == []
    assert told(1) == [("False", "DCGMError")]


class Rank(Program):
    def struck(self, kind: str) -> Exit | None:
        return Exit(1, "timeout") if kind == "nccl-timeout" else None


def test_a_container_ends_by_name_for_want_of_memory_and_else_as_its_program_says() -> None:
    oom = fault("oom", target="ns/p/main")
    assert suffering.ended(oom, Program(), HOLDER, ()) == Exit(137, reason="OOMKilled")
    assert suffering.ended(fault("oom", target="ns/q/main"), Program(), HOLDER, ()) is None
    assert suffering.ended(fault("nccl-timeout"), Rank(), HOLDER, ()) == Exit(1, "timeout")
    assert suffering.ended(fault("nccl-timeout"), Program(), HOLDER, ()) is None
    assert suffering.ended(fault("pcie"), Rank(), HOLDER, (0,)) is None


def test_the_kernel_takes_the_container_that_may_use_most_and_none_of_the_clusters() -> None:
    def running(namespace: str, pod: str, **resources: Any) -> tuple[Holder, dict[str, Any]]:
        return Holder(namespace, pod, "main"), {"resources": resources}

    small = running("ns", "small", limits={"memory": "1Gi"})
    large = running("ns", "large", requests={"memory": "2Gi"})
    system = running("kube-system", "huge", limits={"memory": "9Gi"})
    assert suffering.largest([small, large, system]) == "ns/large/main"
    assert suffering.largest([system]) == ""


def test_each_failure_reaches_the_pods_of_its_node_once(tmp_path: Path) -> None:
    node = Node(tmp_path)
    struck: list[str] = []

    class Run:
        host = node.host

        def strike(self, fault: Fault) -> None:
            struck.append(f"{fault.kind} {fault.target}")

        def running(self) -> list[tuple[Holder, dict[str, Any]]]:
            return [(HOLDER, {"resources": {"limits": {"memory": "1Gi"}}})]

    felt = suffering.Suffering(node.world.orders, lambda: [Run()])  # type: ignore[list-item]
    node.fail("oom", 1.0)
    node.fail("nccl-timeout", 1.0)
    felt.look()
    felt.look()
    assert struck == ["oom ns/p/main", "nccl-timeout "]


class Cluster(Node):
    """A node whose kubelet runs a pod of the host's network with one container, which holds a GPU."""

    def __init__(self, directory: Path, start: Any, **spec: Any) -> None:
        super().__init__(directory, "p5.4xlarge")
        self.world.images, self.world.directory = SimpleNamespace(start=start), directory
        self.world.allotted.offer(self.host.node, GPU, ())
        self.made = self.pod("rank-0", **{GPU: "1"})
        self.made["spec"]["hostNetwork"] = True
        self.made["spec"]["containers"][0] |= spec
        self.made["status"] = {}
        self.world.allotted.take(self.host.node, self.made)
        self.run = PodRun(self.world, self.made, self.host, Addresses(), lambda: None)

    def status(self) -> dict[str, Any]:
        self.run.advance(self.made, self.node, 1000.0)
        (found,) = self.run.status(self.made)["containerStatuses"]
        return dict(found)


def test_the_kubelet_ends_what_a_failure_strikes_and_starts_it_again(tmp_path: Path) -> None:
    there = Cluster(tmp_path, lambda _: Rank())
    assert "running" in there.status()["state"]
    there.run.strike(fault("pcie", gpu=0))
    there.run.strike(fault("oom", target="ns/other/main"))
    assert there.status()["restartCount"] == 0
    there.run.strike(fault("oom", target="ns/rank-0/main"))
    killed = there.status()
    assert (killed["restartCount"], killed["lastState"]["terminated"]["reason"]) == (1, "OOMKilled")
    assert killed["lastState"]["terminated"]["exitCode"] == 137
    there.run.strike(fault("nccl-timeout"))
    waits = there.status()
    assert waits["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert waits["lastState"]["terminated"]["exitCode"] == 1


def test_a_pod_that_is_to_go_gives_its_processes_the_time_that_its_deletion_gives(tmp_path: Path) -> None:
    class Slow(Program):
        ended = False

        def leaves(self) -> bool:
            return self.ended

    slow = Slow()
    there = Cluster(tmp_path, lambda _: slow)
    there.status()
    leaving = {"metadata": {**there.made["metadata"], "deletionGracePeriodSeconds": 30}}
    assert there.run.leave(leaving, 1000.0) == 1030.0
    assert there.run.leave(leaving, 1029.0) == 1030.0
    assert there.run.leave(leaving, 1030.0) is None
    slow.ended = True
    assert there.run.leave(leaving, 1001.0) is None


def test_a_process_is_asked_to_end_when_its_hook_has_slept(tmp_path: Path) -> None:
    """J11: its endpoints are gone by then. The kubelet's time is faster, but not than who is to hear of it."""

    class Deaf(Program):
        asked = 0

        def leaves(self) -> bool:
            self.asked += 1
            return True

    deaf = Deaf()
    there = Cluster(tmp_path, lambda _: deaf, lifecycle={"preStop": {"sleep": {"seconds": 100}}})
    there.status()
    leaving = {"metadata": {**there.made["metadata"], "deletionGracePeriodSeconds": 30}}
    assert there.run.leave(leaving, 1000.0) == 1000.0 + 100 / TIME_SCALE
    assert deaf.asked == 0
    assert there.run.leave(leaving, 1000.0 + 100 / TIME_SCALE) is None
    assert deaf.asked == 1
    assert [slept({"lifecycle": {"preStop": {"sleep": {"seconds": each}}}}) for each in (1, 15)] == [1.0, HEARD_SECONDS]
    assert slept({"lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}) == slept({}) == 0.0


def test_a_gpu_that_fails_strikes_who_holds_it_only(tmp_path: Path) -> None:
    class Server(Program):
        def struck(self, kind: str) -> Exit | None:
            return Exit(1, cuda.error(kind) or "") if cuda.error(kind) else None

    there = Cluster(tmp_path, lambda _: Server())
    there.status()
    there.run.strike(fault("gpu-unavailable", gpu=1))
    assert there.status()["restartCount"] == 0
    there.run.strike(fault("gpu-unavailable", gpu=0))
    assert there.status()["lastState"]["terminated"]["exitCode"] == 1


def test_slices_are_of_the_gpu_that_was_cut(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.world.hosts.cut(node.host.node, "3g.40gb")
    daemons.nvidia_device_plugin(node.launch(spec={"name": "p"}, env={"MIG_STRATEGY": "mixed"}))
    (look,) = node.work.values()
    node.fail("gpu-driver", 1.0, gpu=0)
    look()
    resource = "nvidia.com/mig-3g.40gb"
    assert node.patches[-1]["status"]["allocatable"][resource] == "14"
    node.world.allotted.take(node.host.node, node.pod("small", **{resource: "2"}))
    assert sorted(node.world.allotted.holders(node.host.node, resource)) == [2, 3]
    assert node.world.allotted.gpus(node.host.node, Holder("ns", "small", "main")) == {1}


def test_a_gpu_goes_back_with_its_pod(tmp_path: Path) -> None:
    there = Cluster(tmp_path, lambda _: Program())
    assert there.world.allotted.holders(there.host.node, GPU) == {0: Holder("ns", "rank-0", "main")}
    there.world.allotted.release("elsewhere", "ns", "rank-0")
    assert there.world.allotted.holders(there.host.node, GPU)
    there.world.allotted.release(there.host.node, "ns", "rank-0")
    assert there.world.allotted.holders(there.host.node, GPU) == {}


def test_conditions_keep_the_time_since_which_they_are_so() -> None:
    """EKS' repair counts from the transition, not from the last heartbeat."""
    before = {"status": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "long ago"}]}}
    (kept,) = nodeobject.lasting(before, nodeobject.without_runtime())
    assert (kept["lastTransitionTime"], kept["reason"]) == ("long ago", "KubeletNotReady")
    (new,) = nodeobject.lasting({"status": {}}, nodeobject.without_runtime())
    assert new["lastTransitionTime"] != "long ago"


def test_a_node_without_its_runtime_says_so_until_it_is_back(tmp_path: Path) -> None:
    node = Node(tmp_path, "m7i.xlarge")
    leases: list[str | None] = []
    node.node["status"] |= {"conditions": nodeobject.ready()}
    node.world.running = lambda *_: iter([node.node])
    node.world.kube.apply = lambda each, *_, **__: leases.append(each["spec"].get("holderIdentity"))
    registration, group = Registration(node.world), {"nodegroupName": "n"}
    registration.keep(node.host, group)
    assert (node.patches, leases) == ([], [])
    node.fail("system-services", 1.0)
    registration.keep(node.host, group)
    registration.keep(node.host, group)
    (told,) = node.patches
    (condition,) = told["status"]["conditions"]
    assert (condition["status"], "container runtime is down" in condition["message"]) == ("False", True)
    assert leases == [node.host.node]
    node.heal(2.0)
    node.node["status"] |= told["status"]
    registration.keep(node.host, group)
    assert (node.patches[-1]["status"]["conditions"][0]["status"], leases[-1]) == ("True", None)


def test_a_reboot_cures_a_memory_error_and_not_a_gpu_that_is_gone(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.node["status"] |= {"nodeInfo": {"bootID": "first"}}
    node.fail("gpu-memory", 1.0)
    node.fail("gpu-unavailable", 1.0)
    Registration(node.world).rebooted(node.host)
    assert [each.kind for each in node.world.orders.now().faults if each.lasts] == ["gpu-unavailable"]
