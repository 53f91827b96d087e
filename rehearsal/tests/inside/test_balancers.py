"""Load balancers that EKS' controller makes of Services: which, with what, and that they go."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.eks.balancers import FINALIZER, Balancers, name_of
from rehearsal.eks.listeners import BEGIN

NLB = {f"{BEGIN}type": "nlb", f"{BEGIN}subnets": "subnet-1, subnet-2"}


class Account:
    """The part of the account that has load balancers."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.refuses = False

    def create_load_balancer(self, **asked: Any) -> dict[str, Any]:
        if self.refuses:
            raise ClientError({"Error": {"Code": "SubnetNotFound", "Message": "no such subnet"}}, "CreateLoadBalancer")
        self.made.append(asked)
        made = {"LoadBalancerArn": asked["Name"], "DNSName": f"{asked['Name']}.elb.us-east-2.amazonaws.com"}
        return {"LoadBalancers": [made]}

    def describe_listeners(self, **_: str) -> dict[str, Any]:
        """None: these Services have no ports."""
        return {"Listeners": []}

    def describe_target_groups(self, **_: str) -> dict[str, Any]:
        return {"TargetGroups": []}

    def describe_load_balancers(self) -> dict[str, Any]:
        return {
            "LoadBalancers": [{"LoadBalancerName": each["Name"], "LoadBalancerArn": each["Name"]} for each in self.made]
        }

    def delete_load_balancer(self, LoadBalancerArn: str) -> None:  # noqa: N803 - the API's word
        self.made = [each for each in self.made if each["Name"] != LoadBalancerArn]


@pytest.fixture
def site() -> Any:
    """A controller whose cluster has the Services in `services`; `patches` and `events` are what it told."""
    site: Any = SimpleNamespace(services=[], patches=[], events=[], account=Account())
    kube = SimpleNamespace(patch=lambda _v, _k, name, _ns, patch, sub=None: site.patches.append((name, sub, patch)))
    events = SimpleNamespace(emit=lambda _o, kind, reason, text, _s: site.events.append((kind, reason, text)))
    stores = {"services": SimpleNamespace(all=lambda: site.services)}
    aws = SimpleNamespace(elbv2=site.account)
    world: Any = SimpleNamespace(kube=kube, stores=stores, aws=aws, events=events, cluster="lab")
    site.look = Balancers(world).reconcile
    return site


def service(**changes: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "name": "traefik",
        "namespace": "gateway",
        "uid": "0a1b2c3d-0000-4000-8000-123456789abc",
        "resourceVersion": "7",
        "annotations": dict(NLB),
    }
    spec = {"type": "LoadBalancer", **changes.pop("spec", {})}
    return {"metadata": {**meta, **changes}, "spec": spec}


def test_a_service_gets_a_network_load_balancer_in_its_subnets_once(site: Any) -> None:
    site.services.append(service())
    site.look()
    (made,) = site.account.made
    assert made["Name"] == "a0a1b2c3d000040008000123456789ab"
    assert (made["Type"], made["Scheme"], made["Subnets"]) == ("network", "internet-facing", ["subnet-1", "subnet-2"])
    assert {each["Key"]: each["Value"] for each in made["Tags"]} == {
        "kubernetes.io/cluster/lab": "owned",
        "kubernetes.io/service-name": "gateway/traefik",
    }
    finalizers, status = site.patches
    assert finalizers == ("traefik", None, {"metadata": {"finalizers": [FINALIZER], "resourceVersion": "7"}})
    hostname = f"{made['Name']}.elb.us-east-2.amazonaws.com"
    assert status == ("traefik", "status", {"status": {"loadBalancer": {"ingress": [{"hostname": hostname}]}}})
    site.services[:] = [service() | status[2]]
    site.look()
    assert len(site.account.made) == 1


def test_it_has_the_tags_that_its_service_asks_for_but_not_in_the_controllers_place(site: Any) -> None:
    asked = "owner=the team,kubernetes.io/service-name=mine,odd=a=b"
    site.services.append(service(annotations={**NLB, f"{BEGIN}additional-resource-tags": asked}))
    site.look()
    tags = {each["Key"]: each["Value"] for each in site.account.made[0]["Tags"]}
    own = {"kubernetes.io/cluster/lab": "owned", "kubernetes.io/service-name": "gateway/traefik"}
    assert tags == {"owner": "the team", "odd": "a", **own}


def test_an_internal_one_is_inside_and_others_services_are_left_alone(site: Any) -> None:
    site.services.append(service(annotations={**NLB, f"{BEGIN}internal": "true"}))
    site.services.append(service(uid="inside", spec={"type": "ClusterIP"}))
    site.services.append(service(uid="other", spec={"loadBalancerClass": "service.k8s.aws/nlb"}))
    site.look()
    assert [each["Scheme"] for each in site.account.made] == ["internal"]


def test_without_the_annotation_it_is_no_network_load_balancer(site: Any) -> None:
    site.services.append(service(annotations={f"{BEGIN}subnets": "subnet-1"}))
    site.look()
    assert [each["Type"] for each in site.account.made] == ["application"]


def test_what_the_account_refuses_is_an_event_and_tried_again(site: Any) -> None:
    site.account.refuses = True
    site.services.append(service())
    site.look()
    ((kind, reason, text),) = site.events
    assert (kind, reason) == ("Warning", "SyncLoadBalancerFailed")
    assert "no such subnet" in text
    site.account.refuses = False
    site.look()
    assert len(site.account.made) == 1


def test_it_goes_before_its_service_does(site: Any) -> None:
    site.services.append(service())
    site.look()
    leaving = service(deletionTimestamp="2026-11-23T12:00:00Z", finalizers=["other", FINALIZER])
    site.services[:] = [leaving]
    site.patches.clear()
    site.look()
    assert site.account.made == []
    assert site.patches == [("traefik", None, {"metadata": {"finalizers": ["other"], "resourceVersion": "7"}})]
    site.services[:] = [service(deletionTimestamp="2026-11-23T12:00:00Z", finalizers=["other"])]
    site.patches.clear()
    site.look()
    assert site.patches == []


def test_names_are_as_long_as_a_load_balancers_may_be() -> None:
    assert len(name_of(service())) == 32
