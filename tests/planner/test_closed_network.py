"""F02: NAT gateways by cost, services of AWS inside the network, and what a network without a way out lacks."""

from typing import Any

import pytest

from planner.plan import plan as plan_of
from planner.types import AwsPlan
from settings.load import from_sections
from settings.model import AwsSettings
from tests.planner.stacks import TODAY, planned, rules, sections, told

INSIDE = ["ec2", "ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"]
OWN = "123456789012.dkr.ecr.us-east-2.amazonaws.com/ml/image:1"


def closed(**more: Any) -> AwsPlan:
    """The dev stack without a NAT gateway."""
    changes = {key.replace("_", "."): value for key, value in more.items()}
    return planned(changes={"platform.network": {"nat": "none", "endpoints": INSIDE}, **changes})


SECRET = "arn:aws:secretsmanager:us-east-2:123456789012:secret:mirror-AbCdEf"


def subjects(plan: AwsPlan, rule: str) -> list[str | None]:
    return [each.subject for each in plan.findings if each.rule == rule]


def line(plan: AwsPlan, name: str) -> float:
    return sum(each.quantity for each in plan.prices.lines if each.name == name)


@pytest.mark.parametrize("service", INSIDE)
def test_each_service_that_nodes_and_pods_ask_is_missed(service: str) -> None:
    """The dev stack writes logs to CloudWatch, so that endpoint is one of them."""
    rest = [each for each in INSIDE if each != service]
    plan = planned(changes={"platform.network": {"nat": "none", "endpoints": rest}})
    assert subjects(plan, "closed-without-endpoint") == [service]
    (finding,) = (each for each in plan.errors if each.rule == "closed-without-endpoint")
    assert finding.path == "gpucluster:platform.network.endpoints"
    assert finding.remedy.startswith(f"add {service} to it")


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"security.sessionManager": True}, ["ssm", "ssmmessages"]),
        (
            {"supply": {"registry": "hub.example.com/mirror", "registryLogin": {"secretArn": SECRET}}},
            ["secretsmanager"],
        ),
        # A tunnel passes the Kubernetes API alone; what deploys asks AWS from where it runs.
        ({"platform.access": {"via": "inside"}, "platform.publicAccessCidrs": []}, []),
    ],
)
def test_what_is_switched_on_asks_for_its_own_services(changes: dict[str, Any], missed: list[str]) -> None:
    plan = planned(changes={"platform.network": {"nat": "none", "endpoints": INSIDE}, **changes})
    assert subjects(plan, "closed-without-endpoint") == missed


def test_without_logs_nobody_asks_for_theirs() -> None:
    told = sections("dev")
    del told["monitoring"]
    told["platform"] |= {"network": {"nat": "none", "endpoints": INSIDE[:-1]}}
    settings = from_sections(told)
    assert isinstance(settings, AwsSettings)
    assert not subjects(plan_of(settings, today=TODAY), "closed-without-endpoint")


def test_images_of_the_internet_are_told_once_for_each_registry() -> None:
    found = subjects(closed(), "closed-network")
    assert len(set(found)) == len(found)
    assert {"nvcr.io", "docker.io", "quay.io", "registry.k8s.io", "public.ecr.aws"} <= set(found)


def test_images_of_the_regions_own_registry_are_pulled() -> None:
    """That of another region is outside of the network as any other."""
    plan = planned(
        changes={
            "platform.network": {"nat": "none", "endpoints": INSIDE},
            "training.runs.0.image": OWN,
            "serving.services.0.image": OWN.replace("us-east-2", "us-west-2"),
        }
    )
    assert "docker.io" not in subjects(plan, "closed-network")
    assert "123456789012.dkr.ecr.us-west-2.amazonaws.com" in subjects(plan, "closed-network")
    assert "123456789012.dkr.ecr.us-east-2.amazonaws.com" not in subjects(plan, "closed-network")


def test_alerts_and_hubs_of_the_internet_are_not_reached() -> None:
    receivers = [
        {"name": "team", "kind": "slack", "channel": "#gpus", "secret": "slackUrl"},
        {"name": "bridge", "kind": "webhook", "secret": "bridgeUrl"},
    ]
    plan = planned(
        changes={
            "platform.network": {"nat": "none", "endpoints": INSIDE},
            "monitoring.receivers": receivers,
            "serving.services.0.weights": f"hf://meta-llama/Llama-3.1-8B@{'1' * 40}",
        }
    )
    found = subjects(plan, "closed-network")
    assert {"team", next(iter(plan.services))} <= set(found)
    assert "bridge" not in found


def test_an_open_network_lacks_nothing() -> None:
    assert not {"closed-network", "closed-without-endpoint"} & set(rules(planned()))


@pytest.mark.parametrize(
    ("nat", "zones", "gateways"),
    [("none", (), 0), ("one", ("use2-az1",), 1), ("per-zone", ("use2-az1", "use2-az2"), 2)],
)
def test_nat_gateways_by_cost(nat: str, zones: tuple[str, ...], gateways: int) -> None:
    """Each costs its hours and takes an address; without any, nothing is said to pass through one."""
    plan = planned(changes={"platform.network": {"nat": nat}})
    assert plan.nat_zones == zones
    assert line(plan, "NAT gateway") == gateways
    assert bool(line(plan, "GB a month through the NAT gateway")) is bool(gateways)
    public = {each.zone_id: each.needed for each in plan.subnets if each.role == "public"}
    assert public == {zone: int(zone in zones) for zone in public}
    needs = {each.quota.name: each.need for each in plan.quotas}
    assert needs["EC2-VPC Elastic IPs"] == gateways
    assert needs["NAT gateways per Availability Zone"] == min(gateways, 1)


@pytest.mark.parametrize(("per_zone", "interfaces"), [(False, 3), (True, 6)])
def test_endpoints_are_paid_for_in_each_of_their_zones(per_zone: bool, interfaces: int) -> None:
    network = {"endpoints": INSIDE[:3], "endpointsPerZone": per_zone}
    plan, plain = planned(changes={"platform.network": network}), planned()
    assert line(plan, "interfaces of VPC endpoints") == interfaces
    assert plan.prices.hourly - plain.prices.hourly == pytest.approx(0.01 * interfaces, abs=0.006)
    more = {
        each.zone_id: each.needed - other.needed
        for each, other in zip(plan.subnets, plain.subnets, strict=True)
        if each.role == "system"
    }
    assert more == {"use2-az1": 3, "use2-az2": 3 if per_zone else 0}
    needs, before = ({each.quota.name: each.need for each in one.quotas} for one in (plan, plain))
    assert needs["Interface VPC endpoints per VPC"] == 3
    assert "Interface VPC endpoints per VPC" not in before
    assert needs["Network interfaces per Region"] - before["Network interfaces per Region"] == interfaces


def test_a_mirror_inside_the_network_has_every_image() -> None:
    """Of all that the stack pulls, nothing is left but what EKS pulls by itself, which is named."""
    here, elsewhere = "123456789012.dkr.ecr.us-east-2.amazonaws.com/mirror", "hub.example.com/mirror"
    closed_off = {"platform.network": {"nat": "none", "endpoints": INSIDE}}
    inside = planned(changes={**closed_off, "supply.registry": here})
    assert not {"docker.io", "registry.k8s.io", "public.ecr.aws"} & set(subjects(inside, "closed-network"))
    assert rules(inside).count("image-not-mirrored") == 1
    outside = planned(changes={**closed_off, "supply.registry": elsewhere})
    assert "hub.example.com" in subjects(outside, "closed-network")
    assert "docker.io" not in subjects(outside, "closed-network")


REGISTRY = "123456789012.dkr.ecr.us-east-2.amazonaws.com"
SECRETS = "arn:aws:secretsmanager:us-east-2:123456789012:secret:ecr-pullthroughcache/"
CREDENTIALS = {"docker.io": f"{SECRETS}hub-AbCdEf", "ghcr.io": f"{SECRETS}github-AbCdEf"}


def supply(registry: str = REGISTRY, credentials: dict[str, str] | None = None) -> dict[str, Any]:
    return {"registry": registry, "cache": {"credentials": CREDENTIALS if credentials is None else credentials}}


@pytest.mark.parametrize(
    ("wanted", "rule", "words"),
    [
        (supply(credentials={}), "cache-credential", "signs in to docker.io"),
        (supply("hub.site:5000"), "cache-registry", "hub.site:5000 is not the registry there"),
        (supply(REGISTRY.replace("us-east-2", "eu-west-1")), "cache-registry", "is not the registry there"),
        (supply(f"{REGISTRY}/of-the-whole-company"), "cache-registry", "characters, and a rule of ECR takes 30"),
        (supply(credentials=CREDENTIALS | {"quay.io": f"{SECRETS}q"}), "cache-credential", "no secret for quay.io"),
        (
            supply(credentials=CREDENTIALS | {"docker.io": CREDENTIALS["docker.io"].replace("us-east-2", "us-west-2")}),
            "cache-credential",
            "is not a secret of the account",
        ),
    ],
)
def test_what_ecr_would_refuse_is_refused_before(wanted: dict[str, Any], rule: str, words: str) -> None:
    plan = planned(changes={"supply": wanted})
    assert any(words in each for each in told(rule, plan))
    assert rule in {each.rule for each in plan.errors}


def test_what_ecr_cannot_fetch_is_named_and_stays_at_its_makers() -> None:
    plan = planned(changes={"supply": supply()})
    (sentence,) = told("image-not-cached", plan)
    assert "nvcr.io" in sentence
    assert "quay.io" not in sentence
    assert not {each.rule for each in plan.errors} & {"cache-registry", "cache-credential"}


def test_a_closed_network_gets_nothing_by_a_first_pull() -> None:
    """ECR user guide, "Amazon ECR interface VPC endpoints", considerations: the first pull needs a NAT gateway."""
    inside = {"nat": "none", "endpoints": ["ec2", "ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"]}
    plan = planned(changes={"supply": supply(), "platform.network": inside})
    assert [each.path for each in plan.errors if each.subject == "cache"] == ["gpucluster:supply.cache"]
