"""Sweeping an account: what is found, what goes and in which order, what never does; counted through AWS' own APIs."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud
from rehearsal.tests.cloud.world import Network
from sweep import controllers
from sweep.__main__ import main
from sweep.account import AwsAccount
from sweep.ends import ends_parameter
from sweep.found import look
from sweep.price import hourly, total
from sweep.remove import Sweep, ready, remove, take_turn
from sweep.things import Found, Owner, owner_of
from tests.sweep.conftest import NOT_YET, TODAY, Lab, listed, tags

MINE = Owner(project="gpucluster", stack="lab", expiry=date(2026, 11, 22), protected=False)
WHOLE = {
    "cluster": "eks",
    "node group": None,
    "NAT gateway": "nat",
    "capacity reservation": "m7i.large",
    "endpoint": "endpoint",
    "address": "address",
    "volume": "gp3-gib",
    "load balancer": "nlb",
    "classic load balancer": "clb",
    "security group": None,
    "interface": None,
    "file system": "fsx-SCRATCH_2-gib",
}
"""One of each kind, and the row of its price."""


def thing(kind: str, state: str = "", **more: Any) -> Found:
    return Found(kind=kind, id=f"{kind}-1", owner=MINE, state=state, **more)


def there(account: AwsAccount, stack: str) -> dict[str, int]:
    """What the account has of a stack, by kind."""
    return dict(Counter(each.kind for each in look(account) if each.owner.stack == stack))


def swept(account: Any, stack: str, rounds: int = 100) -> Sweep:
    return remove(account, stack, TODAY, pause=lambda _: time.sleep(0.1), rounds=rounds)


def test_only_the_programs_own_tags_make_an_owner() -> None:
    assert owner_of({"Name": "x", "expiry": "2020-01-01"}) is None
    assert owner_of({"gpucluster:stack": "lab"}) is None
    whole = owner_of(tags("lab"))
    assert whole == MINE
    assert whole.expired(date(2026, 11, 23))
    assert not whole.expired(date(2026, 11, 22))


def test_a_stack_without_a_day_that_can_be_read_never_expires() -> None:
    """LF03: what nobody said the end of is nobody's to remove."""
    for told in ({k: v for k, v in tags("lab").items() if k != "expiry"}, tags("lab", "soon")):
        owner = owner_of(told)
        assert owner is not None
        assert not owner.expired(date(2999, 1, 1))


NODES = {"node group", "instance"}
WAITS_FOR = {
    "instance": {"node group"},
    "cluster": {"node group"},
    "capacity reservation": NODES,
    "load balancer": {"cluster"},
    "classic load balancer": {"cluster"},
    "security group": {"cluster", "load balancer", "classic load balancer"},
    **dict.fromkeys(("interface", "file system", "NAT gateway", "endpoint"), NODES),
}
"""A node group before its cluster, the cluster before what its controllers would make again."""


@pytest.mark.parametrize("kind", sorted({*WHOLE, "instance"}))
def test_nodes_go_first_and_what_holds_others_last(kind: str) -> None:
    one = thing(kind, {"volume": "available", "address": "free"}.get(kind, ""))
    held = {each for each in {*WHOLE, "instance"} - {kind} if not list(ready([one], [one, thing(each)]))}
    assert held == WAITS_FOR.get(kind, set())
    assert list(ready([one], [one])) == [one]


@pytest.mark.parametrize(
    ("kind", "state", "goes"),
    [
        ("volume", "in-use", False),
        ("volume", "available", True),
        ("address", "in-use", False),
        ("address", "free", True),
        ("cluster", "DELETING", False),
        ("node group", "DELETE_FAILED", True),
        ("NAT gateway", "deleting", False),
        ("instance", "shutting-down", False),
    ],
)
def test_what_is_in_use_or_going_is_not_asked_again(kind: str, state: str, goes: bool) -> None:
    one = thing(kind, state)
    assert list(ready([one], [one])) == [one] * goes


def test_prices_are_the_catalogues() -> None:
    """Z12: an L4 spot node, a cluster, 1.2 TiB of scratch; a type without a row is no 0."""
    assert hourly(thing("instance", price="g6.xlarge", spot=True)) != hourly(thing("instance", price="g6.xlarge"))
    assert hourly(thing("cluster", price="eks")) == pytest.approx(0.10)
    assert hourly(thing("file system", price="fsx-SCRATCH_2-gib", size=1200)) == pytest.approx(1200 * 0.14 / 730)
    assert hourly(thing("home file system", price="efs-gb-month", size=73)) == pytest.approx(73 * 0.30 / 730)
    assert hourly(thing("endpoint", price="endpoint", size=2)) == pytest.approx(2 * 0.01)
    assert hourly(thing("node group")) == 0
    usd, unpriced = total([thing("instance", price="x9.huge"), thing("cluster", price="eks")])
    assert (usd, unpriced) == (0.10, 1)


def test_an_expired_lab_goes_and_nothing_else_does(cloud: Cloud, network: Network, account: AwsAccount) -> None:
    """Z02, Z15: what costs of it is gone; a lab on its last day, and what is of nobody's, stay."""
    Lab(cloud, network, "over", tags("over")).everything()
    Lab(cloud, network, "today", tags("today", NOT_YET)).nat_gateway()
    cloud.client("ec2").create_volume(AvailabilityZone="us-east-1a", Size=1)
    assert there(account, "over") == dict.fromkeys(WHOLE, 1)
    assert {each.kind: each.price for each in look(account) if each.owner.stack == "over"} == WHOLE
    assert swept(account, "today").asked == []
    done = swept(account, "over")
    assert (done.left, done.refused, len(done.asked)) == ([], {}, len(WHOLE))
    assert there(account, "over") == {}
    assert there(account, "today") == {"NAT gateway": 1, "address": 1}
    volumes = cloud.client("ec2").describe_volumes()["Volumes"]
    assert len([each for each in volumes if not each.get("Tags")]) == 1
    assert swept(account, "over").asked == []


@pytest.mark.parametrize(
    ("ends", "goes"),
    [
        ("2026-11-23T18:00:00Z", False),
        ("2026-11-24T00:00:00Z", False),
        ("2026-11-23T00:00:00Z", True),
        ("2026-11-22T18:00:00Z", True),
        ("never", True),
        ("tomorrow", False),
    ],
)
def test_a_lab_that_was_extended_is_left_alone(
    cloud: Cloud, network: Network, account: AwsAccount, ends: str, goes: bool
) -> None:
    """Its tags still name its old last day; `make extend` wrote the new end into the account, and no tag."""
    Lab(cloud, network, "extended", tags("extended")).volume()
    parameter = {"Name": ends_parameter("gpucluster", "extended"), "Value": ends, "Type": "String"}
    cloud.client("ssm").put_parameter(**parameter, Overwrite=True)
    assert main([], today=TODAY) == goes
    assert main(["--remove", "extended", "--confirm", "extended"], today=TODAY) == 0
    assert there(account, "extended") == ({} if goes else {"volume": 1})
    assert len(swept(account, "extended").asked) == 0
    cloud.client("ssm").delete_parameter(Name=parameter["Name"])
    swept(account, "extended")
    assert there(account, "extended") == {}


def test_an_end_that_nobody_may_read_stops_the_sweep(
    cloud: Cloud, network: Network, account: AwsAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refusal is no proof that there is no end."""
    Lab(cloud, network, "hidden", tags("hidden")).volume()
    cloud.call("POST", "faults", {"action": "GetParameter", "code": "AccessDeniedException", "status": 400, "times": 1})
    assert main(["--remove", "hidden", "--confirm", "hidden"], today=TODAY) == 2
    assert "AccessDenied" in capsys.readouterr().err
    assert there(account, "hidden") == {"volume": 1}
    assert len(swept(account, "hidden").asked) == 1


def test_persistent_and_protected_data_is_never_removed(cloud: Cloud, network: Network, account: AwsAccount) -> None:
    """LF03: a persistent file system stays though its stack is over, and of a protected stack everything."""
    lasting = Lab(cloud, network, "lasting", tags("lasting"))
    lasting.file_system(DeploymentType="PERSISTENT_2", PerUnitStorageThroughput=125)
    lasting.volume()
    Lab(cloud, network, "guarded", tags("guarded", **{"gpucluster:protect": "true"})).volume()
    assert (swept(account, "lasting").left, swept(account, "guarded").left) == ([], [])
    assert there(account, "lasting") == {"file system": 1}
    assert there(account, "guarded") == {"volume": 1}


class Killed(AwsAccount):
    """An account whose caller dies before its n-th deletion."""

    def __init__(self, after: int) -> None:
        super().__init__(attempts=1)
        self._left = after

    def call(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        if operation.startswith(("delete_", "release_", "terminate_")):
            if not self._left:
                raise KeyboardInterrupt
            self._left -= 1
        return super().call(service, operation, **request)

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[Mapping[str, Any]]:
        return super().pages(service, operation, **request)


def test_a_sweep_that_is_killed_again_and_again_comes_to_its_end(
    cloud: Cloud, network: Network, account: AwsAccount
) -> None:
    """Nothing is remembered: the next one goes on where the account stands."""
    Lab(cloud, network, "killed", tags("killed")).everything()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            swept(Killed(after=1), "killed")
    done = swept(account, "killed")
    assert done.left == []
    assert len(done.asked) < len(WHOLE)
    assert there(account, "killed") == {}


def test_what_aws_refuses_is_told_and_tried_again(cloud: Cloud, network: Network, account: AwsAccount) -> None:
    """Throttled once, and refused for good: the rest goes on, and the sentence is AWS' own."""
    Lab(cloud, network, "throttled", tags("throttled")).nat_gateway()
    once = {"action": "DeleteNatGateway", "code": "RequestLimitExceeded", "status": 503, "times": 1}
    cloud.call("POST", "faults", once)
    assert swept(account, "throttled").left == []
    Lab(cloud, network, "denied", tags("denied")).volume()
    cloud.call("POST", "faults", {"action": "DeleteVolume", "code": "UnauthorizedOperation", "status": 403})
    done = swept(account, "denied", rounds=3)
    assert [each.kind for each in done.left] == ["volume"]
    assert "UnauthorizedOperation" in done.refused[done.left[0].id]
    cloud.call("DELETE", "faults")
    assert swept(account, "denied").left == []


def test_a_load_balancer_that_is_the_last_of_a_lab_is_known_by_what_was_there(
    cloud: Cloud, network: Network, account: AwsAccount
) -> None:
    """It carries no tag of the stack's: when it is refused until all else is gone, it still goes in the same run."""
    lab = Lab(cloud, network, "alone", tags("alone"))
    lab.volume()
    lab.load_balancer()
    cloud.call("POST", "faults", {"action": "DeleteLoadBalancer", "code": "Throttling", "status": 400, "times": 3})
    assert swept(account, "alone").left == []
    names = [each["LoadBalancerName"] for each in cloud.client("elbv2").describe_load_balancers()["LoadBalancers"]]
    assert "k8s-alone" not in names


class Noted:
    """An account that holds one security group, and notes the filters of each question."""

    def __init__(self, **tags: str) -> None:
        self.filters: dict[str, list[Any]] = {}
        self._group = {"GroupId": "sg-1", "Tags": listed(tags)}

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[Any]:  # noqa: ARG002 - the protocol's
        self.filters.setdefault(operation, []).append(request.get("Filters"))
        groups = [self._group] if operation == "describe_security_groups" else []
        yield defaultdict(list, SecurityGroups=groups)

    def call(self, *_: str, **__: Any) -> Any:
        return {"Addresses": []}


def test_the_group_of_a_cluster_is_none_of_its_controllers_while_that_stands() -> None:
    """EKS takes it along; before, it refuses to let it go."""
    account = Noted(**{"kubernetes.io/cluster/lab": "owned", "aws:eks:cluster-name": "lab"})
    assert [each.id for each in controllers.look(account, {"lab": MINE})] == ["sg-1"]
    assert list(controllers.look(account, {"lab": MINE}, ["lab"])) == []


def test_questions_are_ones_that_ec2_takes_and_leave_out_what_is_gone() -> None:
    account = Noted()
    look(account, {f"cluster-{each}": MINE for each in range(450)})
    asked = [each[0]["Values"] for each in account.filters["describe_security_groups"]]
    assert [len(each) for each in asked] == [200, 200, 51], "a filter has 200 values at most"
    keys = {"elbv2.k8s.aws/cluster", *(f"kubernetes.io/cluster/cluster-{each}" for each in range(450))}
    assert {key for each in asked for key in each} == keys
    mine, states = account.filters["describe_instances"][0]
    assert mine == {"Name": "tag-key", "Values": ["gpucluster:stack"]}
    alive = ["pending", "running", "stopping", "stopped"]
    assert states == {"Name": "instance-state-name", "Values": alive}


def test_what_is_held_on_demand_costs_and_goes(cloud: Cloud, network: Network, account: AwsAccount) -> None:
    Lab(cloud, network, "holding", tags("holding")).held()
    (found,) = [each for each in look(account) if each.owner.stack == "holding"]
    assert (found.kind, found.size) == ("capacity reservation", 2)
    assert hourly(found) == pytest.approx(2 * (hourly(thing("instance", price="m7i.large")) or 0), nan_ok=False)
    assert swept(account, "holding").left == []
    assert there(account, "holding") == {}


def test_interface_endpoints_cost_and_go_when_no_node_asks_them(
    cloud: Cloud, network: Network, account: AwsAccount
) -> None:
    """By their interfaces. A gateway endpoint is free and stays."""
    Lab(cloud, network, "closed", tags("closed")).endpoint()
    cloud.client("ec2").create_vpc_endpoint(
        VpcId=network.vpc,
        ServiceName="com.amazonaws.us-east-1.s3",
        TagSpecifications=[{"ResourceType": "vpc-endpoint", "Tags": listed(tags("closed"))}],
    )
    (found,) = [each for each in look(account) if each.owner.stack == "closed"]
    assert (found.kind, found.size) == ("endpoint", 1)
    assert hourly(found) == pytest.approx(0.01)
    assert swept(account, "closed").left == []
    left = cloud.client("ec2").describe_vpc_endpoints()["VpcEndpoints"]
    assert [each["VpcEndpointType"] for each in left if each["State"] != "deleting"] == ["Gateway"]


def test_what_ec2_refuses_within_its_answer_is_told(account: AwsAccount, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = {"ResourceId": "endpoint-1", "Error": {"Code": "OperationNotPermitted", "Message": "not now"}}
    monkeypatch.setattr(account, "call", lambda *_, **__: {"Unsuccessful": [refusal]})
    sweep = Sweep()
    take_turn(account, [thing("endpoint", "available")], sweep)
    assert (sweep.asked, sweep.refused) == ([], {"endpoint-1": "not now"})


def test_one_protected_thing_does_not_protect_what_controllers_made(
    cloud: Cloud, network: Network, account: AwsAccount
) -> None:
    """Not even when it is the last of the stack's own: a load balancer would cost without end."""
    lab = Lab(cloud, network, "mixed", tags("mixed"))
    lab.nat_gateway()
    Lab(cloud, network, "mixed", tags("mixed", **{"gpucluster:protect": "true"})).volume()
    lab.classic_load_balancer()
    cloud.call("POST", "faults", {"action": "DeleteLoadBalancer", "code": "Throttling", "status": 400, "times": 9})
    assert swept(account, "mixed").left == []
    assert there(account, "mixed") == {"volume": 1}
    names = [
        each["LoadBalancerName"] for each in cloud.client("elb").describe_load_balancers()["LoadBalancerDescriptions"]
    ]
    assert "a-mixed" not in names


def test_the_group_that_eks_left_goes_though_rules_name_it(cloud: Cloud, network: Network, account: AwsAccount) -> None:
    """Else it would hold the network that the next destroy is to take."""
    lab = Lab(cloud, network, "grouped", tags("grouped"))
    lab.volume()
    group = lab.cluster_group()
    done = swept(account, "grouped")
    assert (done.left, done.refused) == ([], {})
    there = {each["GroupId"] for each in cloud.client("ec2").describe_security_groups()["SecurityGroups"]}
    assert group not in there


def test_the_command_lists_asks_and_removes(
    cloud: Cloud, network: Network, account: AwsAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    """Z15: a typo in the answer removes nothing; the name typed in full does."""
    Lab(cloud, network, "asked", tags("asked")).volume()
    assert main([], today=TODAY) == 1
    said = capsys.readouterr().out
    assert "make sweep REMOVE=asked" in said
    assert "0.005" in said
    questions: list[str] = []

    def answer(text: str) -> str:
        questions.append(text)
        return "aksed"

    assert main(["--remove", "asked"], ask=answer, today=TODAY) == 1
    assert "1 things at 0.01 USD an hour" in questions[0]
    assert there(account, "asked") == {"volume": 1}
    assert main(["--remove", "asked", "--confirm", "asked"], today=TODAY) == 0
    assert there(account, "asked") == {}
    assert main(["--remove", "asked", "--confirm", "asked"], today=TODAY) == 0


def test_without_a_region_the_command_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert main([], today=TODAY) == 2
    assert "make sweep REGION=" in capsys.readouterr().err
