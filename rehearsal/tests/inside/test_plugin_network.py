"""Where the VPC CNI takes addresses of pods from, and how many a node has, by its variables."""

from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.kube.errors import ApiError
from rehearsal.kubelet.addresses import Addresses, ExhaustedError
from rehearsal.kubelet.plugin_network import NoSubnetError, in_prefixes, pod_addresses, pod_subnet

CUSTOM = {"AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true", "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone"}
HOST: Any = SimpleNamespace(
    node="n", subnet="subnet-node", pod_interfaces=3, machine=SimpleNamespace(addresses_per_interface=10)
)


class World:
    """What the plugin reads: its own variables, the node, the ENIConfigs, the subnets."""

    def __init__(self, env: dict[str, str], configs: dict[str, str] | None, **metadata: Any) -> None:
        variables = [{"name": key, "value": value} for key, value in env.items()]
        self._daemon = {"spec": {"template": {"spec": {"containers": [{"name": "aws-node", "env": variables}]}}}}
        self._node, self._configs = {"metadata": metadata}, configs
        self.kube = self
        self.aws = SimpleNamespace(subnets=lambda: {"subnet-node": {}, "subnet-a": {}, "subnet-b": {}})

    def find(self, store: str, name: str, namespace: str | None = None) -> Any:
        assert (store, name, namespace) in (("daemonsets", "aws-node", "kube-system"), ("nodes", "n", None))
        return self._daemon if store == "daemonsets" else self._node

    def get(self, api_version: str, kind: str, name: str) -> Any:
        assert (api_version, kind) == ("crd.k8s.amazonaws.com/v1alpha1", "ENIConfig")
        if self._configs is None:
            raise ApiError(404, "NoMatch", "no matches for kind")
        return {"spec": {"subnet": self._configs[name]}} if name in self._configs else None


def world(env: dict[str, str], configs: dict[str, str] | None = None, **metadata: Any) -> Any:
    return World(env, configs, **metadata)


IN_A: dict[str, Any] = {"labels": {"topology.kubernetes.io/zone": "us-east-2a"}}


def test_without_custom_networking_pods_are_in_their_nodes_subnet() -> None:
    assert pod_subnet(world({}, {"us-east-2a": "subnet-a"}, **IN_A), HOST) == "subnet-node"
    assert pod_addresses(world({}), HOST) == 27
    assert pod_addresses(world({"ENABLE_PREFIX_DELEGATION": "true"}), HOST) == 27 * 16


def test_the_primary_interface_carries_no_pods_with_it() -> None:
    assert pod_addresses(world(CUSTOM), HOST) == 18
    assert pod_addresses(world({**CUSTOM, "ENABLE_PREFIX_DELEGATION": "true"}), HOST) == 18 * 16


def test_the_eniconfig_is_that_of_annotation_then_label_then_default() -> None:
    configs = {"us-east-2a": "subnet-a", "mine": "subnet-b", "default": "subnet-node"}
    assert pod_subnet(world(CUSTOM, configs, **IN_A), HOST) == "subnet-a"
    annotated = {**IN_A, "annotations": {"k8s.amazonaws.com/eniConfig": "mine"}}
    assert pod_subnet(world(CUSTOM, configs, **annotated), HOST) == "subnet-b"
    assert pod_subnet(world(CUSTOM, configs), HOST) == "subnet-node"
    unlabelled = {"AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true"}
    assert pod_subnet(world(unlabelled, configs, **IN_A), HOST) == "subnet-node", "the zone is not its default label"


@pytest.mark.parametrize("configs", [None, {}, {"us-east-2b": "subnet-b"}, {"us-east-2a": "subnet-gone"}])
def test_there_is_no_address_where_the_zones_eniconfig_or_its_subnet_is_missing(configs: dict[str, str] | None) -> None:
    with pytest.raises(NoSubnetError, match="failed to assign an IP address to container"):
        pod_subnet(world(CUSTOM, configs, **IN_A), HOST)


def test_with_prefixes_each_node_has_blocks_of_its_own_away_from_single_addresses() -> None:
    assert in_prefixes(world({"ENABLE_PREFIX_DELEGATION": "true"}))
    assert not in_prefixes(world({}))
    addresses = Addresses()

    def take(pod: str, node: str) -> str:
        return addresses.take(pod, "10.0.0.0/26", ["10.0.0.20"], node, prefixes=True)

    assert {take(f"a{index}", "a").rpartition(".")[0] for index in range(16)} == {"10.0.0"}
    assert take("a0", "a") == "10.0.0.32", "the same one when asked again; both ends are AWS' and one block has a node"
    with pytest.raises(ExhaustedError, match="has no free /28"):
        take("b0", "b")
    addresses.give_back("a3")
    assert take("a16", "a") == "10.0.0.35"
