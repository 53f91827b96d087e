"""A machine becomes a node with everything a kubelet makes for it, whatever happens to the API server meanwhile."""

from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cluster import awsauth
from rehearsal.eks.nodegroups import NodeGroups
from rehearsal.eks.registration import Registration
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kubelet.hosts import Hosts
from rehearsal.tests.inside import facts

GROUP = {"labels": {"pool": "train"}, "taints": [], "capacityType": "ON_DEMAND", "nodegroupName": "train"}


class Api:
    """An API server that answers so many calls that write, then one not, then all."""

    def __init__(self, answers: int) -> None:
        self.objects: dict[str, Any] = {}
        self._answers = answers

    def _answer(self) -> None:
        self._answers -= 1
        if self._answers == -1:
            raise Unreachable("connection refused")

    def create(self, obj: dict[str, Any]) -> dict[str, Any]:
        self._answer()
        if obj["kind"] in self.objects:
            raise ApiError(409, "AlreadyExists", "there is one")
        made = self.objects[obj["kind"]] = {**obj, "metadata": {**obj["metadata"], "uid": "u"}}
        return made

    def apply(self, obj: dict[str, Any], *_: object, **__: object) -> None:
        self._answer()
        self.objects[obj["kind"]] = obj

    def patch(self, _version: str, kind: str, *rest: Any) -> None:
        self._answer()
        self.objects[kind] |= rest[2]

    def get(self, _version: str, kind: str, *_: object) -> dict[str, Any] | None:
        return self.objects.get(kind)


@pytest.mark.parametrize("answers", range(4))
def test_what_an_outage_cuts_short_is_taken_up_again(answers: int) -> None:
    api, host = Api(answers), facts.host()
    world: Any = SimpleNamespace(
        kube=api,
        hosts=Hosts(),
        cluster="c",
        region="us-west-2",
        aws=SimpleNamespace(cluster=lambda _: {"version": "1.36"}),
        find=lambda *_: api.objects.get("Node"),
        running=lambda *_: iter(()),
    )
    registration = Registration(world)
    with pytest.raises(Unreachable):
        registration.keep(host, GROUP)
    registration.keep(host, GROUP)
    assert api.objects["CSINode"]["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert api.objects["Node"]["status"]["capacity"]["cpu"]
    assert api.objects["Lease"]


ROLE = "arn:aws:iam::123456789012:role/node"


@pytest.mark.parametrize(("mode", "entered"), [("CONFIG_MAP", True), ("API_AND_CONFIG_MAP", False), ("API", False)])
def test_eks_maps_the_role_of_a_node_group_where_access_entries_are_off(mode: str, entered: bool) -> None:
    kept: list[dict[str, Any]] = []
    world: Any = SimpleNamespace(
        cluster="c",
        aws=SimpleNamespace(
            cluster=lambda _: {"accessConfig": {"authenticationMode": mode}},
            nodegroups=lambda _: [{"nodegroupName": "n", "nodeRole": ROLE, "status": "DELETING"}],
            live_instances=dict,
        ),
        kube=SimpleNamespace(get=lambda *_: None, apply=lambda each, *_, **__: kept.append(each)),
    )
    groups = NodeGroups(world)
    groups._groups["n"] = SimpleNamespace(reconcile=lambda *_: False)  # type: ignore[assignment]
    groups.reconcile()
    groups.reconcile()
    assert [awsauth.maps_node(each, ROLE) for each in kept] == [True] * entered


def test_without_access_entries_the_config_map_lets_nodes_in() -> None:
    config_map = awsauth.with_node(None, ROLE)
    world: Any = SimpleNamespace(
        cluster="c",
        aws=SimpleNamespace(cluster=lambda _: {"accessConfig": {"authenticationMode": "CONFIG_MAP"}}),
        find=lambda *_: config_map,
    )
    registration = Registration(world)
    assert registration._entry_type(ROLE) == "EC2_LINUX"
    assert registration._entry_type(f"{ROLE}-of-another-group") is None
