"""What `make vacate` removes in the account: interfaces of dead nodes before a destroy, what is left after it."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from rehearsal.tests.cloud.conftest import REGION, Cloud, until
from rehearsal.tests.cloud.world import Network, cluster_request
from sweep import vacate
from sweep.account import AwsAccount
from sweep.leftovers import held, stands
from sweep.steps import Step
from tests.sweep.everything import CLUSTER, OF_CLOUD, OF_CONTROLLER, balancer, instance, interface, security
from tests.sweep.inventory import Inventory, Thing

ARN = f"arn:aws:eks:us-east-2:123456789012:cluster/{CLUSTER}"
HERE = ["--stack", "lab", "--region", "us-east-2"]
LOGS = f"/aws/eks/{CLUSTER}/cluster"


def of_node(name: str, node: str = "", status: str = "available", cluster: str = CLUSTER) -> Thing:
    """As the VPC CNI tags what it makes."""
    made = {"node.k8s.amazonaws.com/instance_id": node} if node else {}
    return interface(name, status, {"cluster.k8s.amazonaws.com/name": cluster, **made})


def log_group(name: str, **tags: str) -> Thing:
    arn = f"arn:aws:logs:us-east-2:123456789012:log-group:{name}:*"
    return {"logGroupName": name, "arn": arn, "GroupTags": tags}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Inventory:
    """With the cluster, and interfaces of a node that runs, of one that is off, of two that died, and others'."""
    made = Inventory()
    made.things["eks list_clusters"] = [{"name": CLUSTER, "status": "ACTIVE"}]
    made.things["ec2 describe_instances"] = [
        instance("i-runs", "running", "g6.xlarge", None),
        instance("i-off", "stopped", "g6.xlarge", None),
        instance("i-dead", "terminated", "g6.xlarge", None),
    ]
    made.things["ec2 describe_network_interfaces"] = [
        of_node("eni-soon", "i-runs"),
        of_node("eni-later", "i-off"),
        of_node("eni-dead", "i-dead"),
        of_node("eni-forgotten", "i-unknown"),
        of_node("eni-nameless"),
        of_node("eni-used", "i-dead", "in-use"),
        of_node("eni-theirs", "i-dead", cluster="payroll"),
    ]
    monkeypatch.setattr("sweep.vacate.AwsAccount", lambda *where: {("us-east-2", None): made}[where])
    return made


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What kubectl was asked to remove; nothing of the cluster's is to be, unless a test says so."""
    done: list[Any] = []
    monkeypatch.setattr("sweep.kubectl.Kubectl.cluster", lambda _: ARN)
    monkeypatch.setattr(vacate, "planned", lambda _: [])
    monkeypatch.setattr(vacate, "vacate", lambda _, found: done.extend(found))
    return done


def run(*words: str, ask: Callable[[str], str] = lambda _: "lab", pauses: list[float] | None = None) -> int:
    return vacate.main([*words], ask=ask, pause=(pauses if pauses is not None else []).append)


def test_interfaces_of_nodes_that_are_gone_go_before_a_destroy(
    account: Inventory, inside: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A node that runs is about to take its own, and one that is off may run again; by the context's region."""
    assert run("--stack", "lab", ask=lambda _: "lba") == 1
    assert account.done == []
    assert run("--stack", "lab") == 0
    gone = ("eni-dead", "eni-forgotten", "eni-nameless")
    assert account.done == [f"ec2 delete_network_interface {each}" for each in gone]
    assert capsys.readouterr().out.splitlines()[4:] == [
        "delete interface eni-dead, which was made for i-dead that is gone",
        "delete interface eni-forgotten, which was made for i-unknown that is gone",
        "delete interface eni-nameless, which was made for a node that is gone",
        "done; next: make undeploy STACK=lab",
    ]
    assert inside == []
    assert run(*HERE) == 0
    assert capsys.readouterr().out == "nothing to remove; next: make undeploy STACK=lab\n"


def test_nodes_that_go_with_a_pool_leave_interfaces_that_go_too(
    account: Inventory, inside: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Step(("nodepools.karpenter.sh", "somebodys"), "its nodes")

    def removed(_: object, found: list[Step]) -> None:
        inside.extend(found)
        account.things["ec2 describe_instances"] = []

    monkeypatch.setattr(vacate, "planned", lambda _: [step])
    monkeypatch.setattr(vacate, "vacate", removed)
    assert run(*HERE) == 0
    assert inside == [step]
    left = [each["NetworkInterfaceId"] for each in account.things["ec2 describe_network_interfaces"]]
    assert left == ["eni-used", "eni-theirs"]


def test_ids_of_nodes_are_asked_for_two_hundred_at_a_time(account: Inventory) -> None:
    """The inventory refuses longer filters, as EC2 does."""
    account.things["ec2 describe_network_interfaces"] = [of_node(f"eni-{each}", f"i-{each}") for each in range(450)]
    account.things["ec2 describe_instances"] = [instance("i-449", "running", "g6.xlarge", None)]
    assert len(held(account, "gpucluster", "lab")) == 449


def gone(account: Inventory, *groups: Thing) -> None:
    """The cluster has gone, and what its controllers made has not."""
    account.things["eks list_clusters"] = [{"name": "payroll", "status": "ACTIVE"}]
    account.things["elbv2 describe_load_balancers"] = [
        balancer("front", OF_CONTROLLER),
        balancer("theirs", {"Name": "x"}),
    ]
    account.things["ec2 describe_security_groups"] = [
        security("sg-front", OF_CONTROLLER),
        security("sg-eks", OF_CLOUD | {"aws:eks:cluster-name": CLUSTER}),
    ]
    account.things["logs describe_log_groups"] = [log_group("/aws/eks/payroll/cluster"), *groups]


def test_what_a_cluster_left_goes_after_its_destroy(account: Inventory, capsys: pytest.CaptureFixture[str]) -> None:
    """Without kubectl, whose context may be gone as well; others' things, and a longer name, stay."""
    gone(account, log_group(LOGS), log_group(f"{LOGS}-2"))
    pauses: list[float] = []
    assert run(*HERE, pauses=pauses) == 0
    arn = account.done[0].split()[-1]
    assert account.done == [
        f"elbv2 delete_load_balancer {arn}",
        *(f"ec2 delete_network_interface eni-{each}" for each in ("soon", "later", "dead", "forgotten", "nameless")),
        f"logs delete_log_group {LOGS}",
        "ec2 delete_security_group sg-front",
        "ec2 delete_security_group sg-eks",
    ]
    assert pauses == [15.0]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"account 123456789012 has no cluster {CLUSTER} in us-east-2: it is gone, or was never made"
    assert (said[1], said[-2:]) == (f"delete load balancer {arn}", [f"delete log group {LOGS}", "done"])
    assert [each["logGroupName"] for each in account.things["logs describe_log_groups"]] == [
        "/aws/eks/payroll/cluster",
        f"{LOGS}-2",
    ]
    assert run(*HERE) == 0
    last = "nothing to remove; EKS may write its last logs some minutes after the end: then run this again"
    assert capsys.readouterr().out.splitlines()[1:] == [last]


def test_a_log_group_of_the_stacks_own_stays(account: Inventory, capsys: pytest.CaptureFixture[str]) -> None:
    """One that its state has, or that security.auditLog keeps, carries its tags; what EKS makes anew does not."""
    gone(account, log_group(LOGS, **{"gpucluster:stack": "lab"}))
    for each in ("elbv2 describe_load_balancers", "ec2 describe_security_groups", "ec2 describe_network_interfaces"):
        account.things[each] = []
    assert run(*HERE) == 0
    assert account.done == []
    kept = "stays: it has the stack's tags: pulumi destroy takes it, or security.auditLog keeps it"
    assert f"log group {LOGS} {kept}" in capsys.readouterr().out


def test_what_aws_refuses_is_told_after_five_minutes(
    account: Inventory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = account.call

    def call(service: str, operation: str, **request: Any) -> Any:
        if operation == "delete_network_interface":
            raise ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}, "DeleteNetworkInterface")
        return answer(service, operation, **request)

    monkeypatch.setattr(account, "call", call)
    monkeypatch.setattr("sweep.kubectl.Kubectl.cluster", lambda _: ARN)
    monkeypatch.setattr(vacate, "planned", lambda _: [])
    monkeypatch.setattr(vacate, "vacate", lambda *_: None)
    pauses: list[float] = []
    assert run("--stack", "lab", pauses=pauses) == 1
    assert pauses == [15.0] * 19
    denied = "An error occurred (UnauthorizedOperation) when calling the DeleteNetworkInterface operation: no"
    refused = capsys.readouterr().err.splitlines()
    assert refused[0] == f"interface eni-dead: {denied}; run the same command again"
    assert len(refused) == 3


def test_credentials_of_another_account_remove_nothing(
    account: Inventory, inside: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There the cluster would seem to be gone."""
    monkeypatch.setattr("sweep.kubectl.Kubectl.cluster", lambda _: ARN.replace("123456789012", "999999999999"))
    assert run("--stack", "lab") == 2
    said = f"{CLUSTER} is in account 999999999999, your credentials are of 123456789012: set PROFILE=\n"
    assert (capsys.readouterr().err, account.done, inside) == (said, [], [])


def test_a_region_does_not_make_another_cluster_ours(
    account: Inventory, inside: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sweep.kubectl.Kubectl.cluster", lambda _: "kind-lab")
    assert run(*HERE) == 2
    assert "kubectl talks to kind-lab" in capsys.readouterr().err
    assert (account.done, inside) == ([], [])


def test_an_account_that_does_not_answer_is_told_and_nothing_is_removed(
    inside: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def silent(*_: Any, **__: Any) -> Any:
        raise NoCredentialsError

    monkeypatch.setattr(AwsAccount, "call", silent)
    assert run("--stack", "lab") == 2
    said = "the account does not answer: Unable to locate credentials; log in, or name a profile: PROFILE=ml\n"
    assert (capsys.readouterr().err, inside) == (said, [])


def test_a_cluster_that_nobody_may_see_is_not_gone(account: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal is no proof that there is none."""

    def denied(*_: Any, **__: Any) -> Any:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeCluster")

    monkeypatch.setattr(account, "call", denied)
    with pytest.raises(ClientError, match="AccessDenied"):
        stands(account, CLUSTER)


def test_the_log_group_that_eks_makes_after_a_destroy_goes_lf09(cloud: Cloud, network: Network) -> None:
    """On an account that makes it late, as EKS does at times."""
    eks, logs, name = cloud.client("eks"), cloud.client("logs"), "/aws/eks/gpucluster-late/cluster"
    words = ("--stack", "late", "--region", REGION)
    role = "arn:aws:iam::123456789012:role/sweep-cluster"
    on = {"clusterLogging": [{"types": ["api"], "enabled": True}]}
    cloud.call("PUT", "late-logs", {"seconds": 0.3})
    try:
        eks.create_cluster(**cluster_request("gpucluster-late", role, network, logging=on))
        until(lambda: eks.describe_cluster(name="gpucluster-late")["cluster"]["status"] == "ACTIVE")
        logs.delete_log_group(logGroupName=name)
        eks.delete_cluster(name="gpucluster-late")
        until(lambda: name in cloud.inventory().get("logs:log-group", ()))
    finally:
        cloud.call("PUT", "late-logs", {"seconds": None})
    assert run(*words, ask=lambda _: "late") == 0
    assert name not in cloud.inventory().get("logs:log-group", ())
