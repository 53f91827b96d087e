"""A whole account in memory: all that is found of it, and a removal from its first call to its last."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from catalogue.tables import SHIPPED
from catalogue.types import UsageClass
from sweep.__main__ import main
from sweep.controllers import FREE
from sweep.found import look
from sweep.price import hourly
from sweep.remove import PAUSE_SECONDS, expired, remove
from sweep.rights import action, document
from sweep.things import Found, Owner
from tests.sweep.conftest import TODAY
from tests.sweep.everything import FOUND, GUARDED, LAB, account, ec2, instance, security
from tests.sweep.inventory import Inventory


def said(each: Found) -> str:
    """A thing with all that is known of it."""
    price = f", price {each.price}" if each.price else ""
    size = f" x {each.size:g}" if each.size != 1 else ""
    stays, within = f"; {each.stays}" * bool(each.stays), f"; in {each.within}" * bool(each.within)
    name = each.id.rpartition("/")[2]
    return f"{each.kind} {name} of {each.owner.stack}: {each.state}{price}{size}{' spot' * each.spot}{within}{stays}"


def test_all_that_a_stack_of_this_program_has_is_found_and_nothing_else() -> None:
    assert [said(each) for each in look(account())] == FOUND.splitlines()


def test_what_is_not_ours_needs_no_filter_that_names_a_cluster() -> None:
    """Without a stack of this program no group or interface is asked for."""
    empty = Inventory()
    empty.things["elb describe_load_balancers"] = [{"LoadBalancerName": "theirs", "BalancerTags": {"Name": "x"}}]
    empty.things["ec2 describe_security_groups"] = [security("sg-1", {"elbv2.k8s.aws/cluster": "x"})]
    assert look(empty) == []


def test_what_aws_bills_has_a_price() -> None:
    """All but what is free, groups of nodes, which are found as instances, and instances that are off."""
    unpriced = {each.kind for each in look(account()) if not hourly(each) and each.price is None}
    assert unpriced == {*FREE, "node group", "instance"}
    assert {each.state for each in look(account()) if each.kind == "instance" and each.price is None} == {
        "stopping",
        "stopped",
    }
    priced = {each.kind: hourly(each) for each in look(account())}
    assert (priced["classic load balancer"], priced["address"]) == (0.025, 0.005)
    assert priced["load balancer"] == 0.0225


REMOVED = """\
eks delete_nodegroup training
eks delete_nodegroup system
eks delete_nodegroup spare
ec2 delete_volume vol-free
ec2 release_address eipalloc-free
-- 15 s
eks delete_cluster gpucluster-lab
ec2 terminate_instances i-spot
ec2 terminate_instances i-new
ec2 terminate_instances i-stopping
ec2 terminate_instances i-off
-- 15 s
ec2 cancel_capacity_reservation cr-held
ec2 cancel_capacity_reservation cr-soon
ec2 delete_nat_gateway nat-available
ec2 delete_nat_gateway nat-pending
ec2 delete_vpc_endpoints vpce-ecr
fsx delete_file_system fs-00scratch
elbv2 delete_load_balancer arn:aws:elasticloadbalancing:us-east-2:123456789012:loadbalancer/net/of-lab
elbv2 delete_load_balancer arn:aws:elasticloadbalancing:us-east-2:123456789012:loadbalancer/net/too
elb delete_load_balancer classic
ec2 delete_network_interface eni-left
-- 15 s
ec2 delete_security_group sg-cloud
ec2 delete_security_group sg-controller
ec2 revoke_security_group_ingress sg-files
ec2 revoke_security_group_egress sg-files
ec2 delete_security_group sg-eks"""


def removed(there: Inventory, **how: Any) -> Any:
    return remove(there, "lab", TODAY, pause=lambda seconds: there.done.append(f"-- {seconds:g} s"), **how)


def test_a_removal_from_its_first_call_to_its_last() -> None:
    """Round by round, each as soon as AWS lets it, with a rest between; what is kept, and others' things, stay."""
    there = account()
    done = removed(there)
    assert there.done == REMOVED.splitlines()
    assert (done.left, done.refused, PAUSE_SECONDS) == ([], {}, 15)
    deleted = [each for each in there.done if not each.startswith(("--", "ec2 revoke"))]
    assert done.asked == [each.rpartition(" ")[2] for each in deleted]
    left = [line for line in FOUND.splitlines() if " of lab" not in line or "kept" in line]
    assert [said(each) for each in look(there)] == left
    assert remove(there, "prod", TODAY).asked == []


def test_the_policy_names_what_a_removal_calls_and_nothing_else() -> None:
    """But what the command shows besides, and other commands call; the same is recorded in test_rights."""
    there = account()
    removed(there)
    policy = {call for each in document()["Statement"] for call in each["Action"]}
    elsewhere = ("lambda:", "logs:", "s3:", "secretsmanager:")
    others = {each for each in policy if each.startswith(elsewhere)} | {"ssm:PutParameter", "ec2:DescribeRegions"}
    assert {action(*each) for each in there.asked} == policy - others


def test_a_removal_ends_after_so_many_rounds_and_says_what_is_left() -> None:
    there = account()
    done = removed(there, rounds=2)
    assert there.done == REMOVED.splitlines()[: REMOVED.splitlines().index("-- 15 s", 6)]
    later = [each.split()[-1] for each in REMOVED.splitlines()[6:] if not each.startswith(("--", "ec2 revoke"))]
    assert sorted(each.id for each in done.left) == sorted({*later} - {"sg-eks"}), "EKS' own is its cluster's still"
    assert done.costs


def table(text: str) -> list[list[str]]:
    """The cells of a table's rows."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Inventory:
    """The account of region us-east-2 and profile ml."""
    made = account()
    monkeypatch.setattr("sweep.__main__.AwsAccount", lambda *where: {("us-east-2", "ml"): made}[where])
    assert remove.__kwdefaults__ is not None
    monkeypatch.setitem(remove.__kwdefaults__, "pause", lambda _: None)
    return made


WHERE = ["--region", "us-east-2", "--profile", "ml"]


def test_the_command_shows_what_expired_stacks_left(there: Inventory, capsys: pytest.CaptureFixture[str]) -> None:
    """Stack by stack, with prices, what has none, and why some of it stays."""
    there.things["ec2 describe_instances"] = [instance("i-odd", "running", "x9.huge", GUARDED)]
    kept = ["elbv2 describe_load_balancers", "ec2 describe_volumes", "ec2 describe_instances"]
    kept += ["fsx describe_file_systems", "ec2 describe_nat_gateways"]
    for each in there.things:
        there.things[each] = there.things[each] if each in kept else []
    assert main(WHERE, today=TODAY) == 1
    shown = capsys.readouterr().out
    persistent = "stays: it is persistent, so its data is kept"
    usd = {each.id: f"{hourly(each):.3f}" for each in expired(there, look(there), TODAY) if hourly(each)}
    guarded = "stays: the stack is protected"
    assert table(shown) == [
        ["lab", "2026-11-22", "us-east-2", "NAT gateway", "nat-available", "available", usd["nat-available"], ""],
        ["lab", "2026-11-22", "us-east-2", "NAT gateway", "nat-pending", "pending", usd["nat-pending"], ""],
        ["lab", "2026-11-22", "us-east-2", "file system", "fs-000000zfs", "CREATING", "no price", persistent],
        ["lab", "2026-11-22", "us-east-2", "file system", "fs-00lasting", "AVAILABLE", usd["fs-00lasting"], persistent],
        ["lab", "2026-11-22", "us-east-2", "file system", "fs-00scratch", "AVAILABLE", usd["fs-00scratch"], ""],
        ["lab", "2026-11-22", "us-east-2", "load balancer", "of-lab", "provisioning", "0.022", ""],
        ["lab", "2026-11-22", "us-east-2", "load balancer", "too", "active", "0.022", ""],
        ["lab", "2026-11-22", "us-east-2", "volume", "vol-free", "available", usd["vol-free"], ""],
        ["safe", "2026-11-22", "us-east-2", "instance", "i-odd", "running", "no price", guarded],
        ["safe", "2026-11-22", "us-east-2", "volume", "vol-safe", "in-use", usd["vol-safe"], guarded],
    ]
    heads = next(line for line in shown.splitlines() if "stack" in line)
    assert heads.replace("┃", "").split() == ["stack", "expired", "region", "what", "id", "state", "USD/h"]
    total = sum(hourly(each) or 0 for each in expired(there, look(there), TODAY))
    last = f"10 things, {total:.2f} USD an hour (US list prices of the catalogue), and 2 without a recorded price"
    assert shown.splitlines()[-2:] == [last, "make sweep REMOVE=lab removes what lab left"]


def test_the_command_asks_with_the_price_and_tells_what_became_of_it(
    there: Inventory, capsys: pytest.CaptureFixture[str]
) -> None:
    going = [each for each in expired(there, look(there), TODAY) if each.owner.stack == "lab" and not each.stays]
    asked: list[str] = []
    words = [*WHERE, "--remove", "lab"]
    assert main(words, today=TODAY, ask=lambda text: asked.append(text) or "lba") == 1  # type: ignore[func-returns-value]
    usd = sum(hourly(each) or 0 for each in going)
    question = f"{len(going)} things at {usd:.2f} USD an hour will be deleted permanently, with their data; type lab: "
    assert asked == [question]
    assert capsys.readouterr().out.splitlines()[-1] == "nothing was removed"
    assert there.done == []
    assert main(words, today=TODAY, ask=lambda _: " lab\n") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "removed: 23; left: 0"
    assert main(words, today=TODAY) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no expired stack lab left anything that may be deleted"
    assert main(WHERE, today=TODAY) == 0, "what stays is nothing to remove"


def test_a_volume_that_its_class_retains_is_told_of_and_stays(there: Inventory) -> None:
    kept = ec2("VolumeId", "vol-kept", "available", {**LAB, "gpucluster:retain": "true"}, Size=5)
    there.things = Inventory().things | {"ec2 describe_volumes": [kept]}
    (volume,) = (each for each in look(there) if each.kind == "volume")
    assert volume.stays == "its storage class retains it"
    assert main([*WHERE, "--remove", "lab", "--confirm", "lab"], today=TODAY) == 0
    assert there.done == []


def test_the_command_says_what_is_still_going_and_what_was_refused(
    there: Inventory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was told to go, what AWS refused, in its own words, and what is in use: to be asked for again."""
    monkeypatch.setitem(remove.__kwdefaults__ or {}, "rounds", 1)
    keep = there.things["ec2 describe_nat_gateways"]
    there.things = Inventory().things | {"ec2 describe_nat_gateways": keep}
    there.things["ec2 describe_volumes"] = [ec2("VolumeId", "vol-1", "in-use", LAB, Size=1)]
    answer = there.call

    def call(service: str, operation: str, **request: Any) -> Any:
        if request.get("NatGatewayId") == "nat-pending":
            raise ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}, "DeleteNatGateway")
        return answer(service, operation, **request)

    monkeypatch.setattr(there, "call", call)
    assert main([*WHERE, "--remove", "lab", "--confirm", "lab"], today=TODAY) == 1
    denied = "An error occurred (UnauthorizedOperation) when calling the DeleteNatGateway operation: no"
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "removed: 1; left: 3",
        "  volume vol-1: still going; run the same command again",
        "  NAT gateway nat-available: still going; run the same command again",
        f"  NAT gateway nat-pending: {denied}; run the same command again",
    ]


def test_nothing_left_is_said(there: Inventory, capsys: pytest.CaptureFixture[str]) -> None:
    there.things = Inventory().things
    assert main(WHERE, today=TODAY) == 0
    assert capsys.readouterr().out == "no expired stack left anything that costs by the hour\n"


def test_an_instances_price_is_that_of_how_it_was_bought() -> None:
    owner = Owner(project="p", stack="s", expiry=None, protected=False)
    row = SHIPPED.instances["g6.xlarge"]
    for spot, usage in ((True, UsageClass.SPOT), (False, UsageClass.ON_DEMAND)):
        price = row.price(usage)
        assert price is not None
        for kind, size in (("instance", 1), ("capacity reservation", 3)):
            one = Found(kind=kind, id="i", owner=owner, state="x", price="g6.xlarge", spot=spot, size=size)
            assert hourly(one) == price.usd_per_hour * size
