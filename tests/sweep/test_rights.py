"""The rights that sweep, extension and keeper have: those of the calls they make, recorded, and no other."""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from decide import Task
from handler import keep

from components.aws.keeper_rights import Holdings, rights
from rehearsal.tests.cloud.conftest import REGION, Cloud, until
from rehearsal.tests.cloud.world import Network
from sweep.__main__ import main
from sweep.account import AwsAccount
from sweep.extend import main as extend
from sweep.found import look
from sweep.regions import opted_in
from sweep.rights import FILE, action, document
from sweep.rights import main as write
from sweep.vacate import main as vacate
from tests.sweep.conftest import TODAY, Lab, tags
from tests.sweep.test_keeper import END, Kept, make

__all__ = ["make"]
ROOT = Path(__file__).parents[2]
FREE = {"sts:GetCallerIdentity"}
"""What needs no permission (STS API reference)."""
WHERE = "us-east-1:123456789012"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The IAM actions of all requests that are sent."""
    found: set[str] = set()
    made = AwsAccount._client

    def client(self: AwsAccount, service: str) -> Any:
        built = made(self, service)
        built.meta.events.register("before-call", note, unique_id="rights")
        return built

    def note(model: Any, **_: Any) -> None:
        found.add(action(model.service_model.service_name, model.name))

    monkeypatch.setattr(AwsAccount, "_client", client)
    return found


def allowed(policy: Mapping[str, Any], call: str, arn: str, of: Mapping[str, str] | None = None) -> bool:
    """Whether a statement lets this call pass on a resource with these tags; a condition on no tag does not hold."""
    tests: dict[str, Callable[[str, str], bool]] = {
        "StringEquals": str.__eq__,
        "StringNotEquals": str.__ne__,
        "StringLike": fnmatchcase,
    }

    def holds(condition: Mapping[str, Mapping[str, str]]) -> bool:
        return all(
            tests[kind]((of or {}).get(key.removeprefix("aws:ResourceTag/"), ""), wanted)
            for kind, keys in condition.items()
            for key, wanted in keys.items()
        )

    return any(
        call in each["Action"]
        and any(fnmatchcase(arn, one) for one in _listed(each["Resource"]))
        and holds(each.get("Condition", {}))
        for each in policy["Statement"]
    )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def named(policy: Mapping[str, Any]) -> set[str]:
    return {call for each in policy["Statement"] for call in each["Action"]}


def test_sweep_extension_and_vacating_call_what_the_policy_allows_and_nothing_else(
    make: Any, cloud: Cloud, network: Network, asked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(cloud, network, "swept", tags("swept"))
    lab.everything()
    lab.instance()
    lab.cluster_group()
    monkeypatch.setattr("sweep.remove.PAUSE_SECONDS", 0.1)
    assert main(["--remove", "swept", "--confirm", "swept"], today=TODAY) == 0
    make("extended")
    assert extend(["--stack", "extended", "--hours", "1"], now=END - timedelta(hours=1)) == 0
    assert REGION in opted_in(AwsAccount(attempts=1))
    cloud.client("s3").create_bucket(Bucket="somebodys")
    assert main([], today=TODAY) in (0, 1)
    cloud.client("logs").create_log_group(logGroupName="/aws/eks/gpucluster-gone/cluster")
    assert vacate(["--stack", "gone", "--region", REGION, "--confirm", "gone"]) == 0
    assert asked - FREE == named(document())


def test_a_keeper_calls_what_its_role_allows_and_nothing_else(make: Any, cloud: Cloud, asked: set[str]) -> None:
    hours = {"time_zone": "UTC", "days": [], "start": "08:00", "end": "17:00"}
    kept: Kept = make("watched", gpu_pools={"training": 1}, off_hours=hours)
    kept.lab.everything()
    kept.lab.instance()
    kept.lab.cluster_group()
    told = cloud.client("lambda").get_function_configuration(FunctionName="gpucluster-watched-keeper")
    task = Task.parse(told["Environment"]["Variables"]["KEEPER"])
    account = AwsAccount(attempts=1)
    keep(account, task, END - timedelta(hours=2))

    def empty() -> bool:
        keep(account, task, END)
        return not [each for each in look(account) if each.owner.stack == "watched"]

    until(empty)
    keep(account, task, END)  # tells that nothing is left
    holdings = Holdings(
        partition="aws",
        region="us-east-1",
        account_id="123456789012",
        cluster="gpucluster-watched",
        tags=kept.lab.tags,
        parameters=["arn:p"],
        topic="arn:t",
        log_group="arn:l",
        blocks=False,
    )
    role = named(json.loads(rights(holdings)))
    assert asked - role == set()
    assert role - asked == {"logs:CreateLogStream", "logs:PutLogEvents"}


@pytest.mark.parametrize(
    ("call", "arn", "of", "may"),
    [
        ("ec2:DeleteVolume", f"arn:aws:ec2:{WHERE}:volume/vol-1", tags("lab"), True),
        ("ec2:DeleteVolume", f"arn:aws:ec2:{WHERE}:volume/vol-1", {}, False),
        ("ec2:DeleteVolume", f"arn:aws:ec2:{WHERE}:volume/vol-1", tags("lab", **{"gpucluster:protect": "true"}), False),
        ("fsx:DeleteFileSystem", f"arn:aws:fsx:{WHERE}:file-system/fs-1", {"gpucluster:project": "other"}, False),
        ("eks:DeleteCluster", f"arn:aws:eks:{WHERE}:cluster/gpucluster-lab", {}, True),
        ("eks:DeleteCluster", f"arn:aws:eks:{WHERE}:cluster/payroll", {}, False),
        ("eks:DeleteNodegroup", f"arn:aws:eks:{WHERE}:nodegroup/gpucluster-lab/training/1", {}, True),
        ("logs:DeleteLogGroup", f"arn:aws:logs:{WHERE}:log-group:/aws/eks/gpucluster-lab/cluster:*", {}, True),
        ("logs:DeleteLogGroup", f"arn:aws:logs:{WHERE}:log-group:/aws/eks/payroll/cluster:*", {}, False),
        ("ssm:PutParameter", f"arn:aws:ssm:{WHERE}:parameter/gpucluster/lab/keeper/ends", {}, True),
        ("ssm:PutParameter", f"arn:aws:ssm:{WHERE}:parameter/gpucluster/lab/keeper/record", {}, False),
    ],
)
def test_what_the_policy_lets_be_removed(call: str, arn: str, of: dict[str, str], *, may: bool) -> None:
    assert allowed(document(), call, arn, of) is may


def test_load_balancers_go_by_the_cluster_whose_controllers_made_them() -> None:
    def may(of: dict[str, str]) -> bool:
        arn = f"arn:aws:elasticloadbalancing:{WHERE}:loadbalancer/net/k8s-1/1"
        return allowed(document(["lab"]), "elasticloadbalancing:DeleteLoadBalancer", arn, of)

    assert may({"elbv2.k8s.aws/cluster": "gpucluster-dev"})
    assert may({"kubernetes.io/cluster/gpucluster-lab": "owned"})
    assert not may({"kubernetes.io/cluster/gpucluster-dev": "owned"})
    assert not may({"elbv2.k8s.aws/cluster": "payroll"})


def test_the_policy_file_is_the_one_that_is_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make reference` writes it."""
    written = tmp_path / FILE
    written.parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    write()
    assert (ROOT / FILE).read_text(encoding="utf-8") == written.read_text(encoding="utf-8")
