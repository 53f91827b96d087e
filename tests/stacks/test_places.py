"""Where pods find what stands beside them, on either platform, and what people type to come to a cluster on metal."""

import pytest

from components.platform.network_rules import Reach, internet
from stacks import aws_reach, metal
from stacks.aws_storage import InstanceStore
from stacks.metal_storage import Scratch
from stacks.platform import Connections
from tests.stacks.test_machines_told import planned


@pytest.mark.parametrize("services", [False, True])
def test_on_aws_the_vpc_has_nodes_and_the_api_and_services_where_they_have_endpoints(services: bool) -> None:
    """The API server is asked at the first address of Services, and by a name at its interfaces in the VPC."""
    assert aws_reach.connections("10.80.0.0/16", services=services) == Connections(
        api=Reach(cidrs=["10.80.0.0/16", "172.20.0.1/32"], ports=[443]),
        nodes=Reach(cidrs=["10.80.0.0/16"]),
        objects=internet(),
        identity=Reach(cidrs=["169.254.170.23/32"], ports=[80]),
        services=Reach(cidrs=["10.80.0.0/16"], ports=[443]) if services else None,
    )


def test_on_metal_the_api_is_at_its_own_address_and_at_each_machine_of_the_control_plane() -> None:
    site = planned("everything").site
    assert site
    assert site.object_store
    assert metal.connections(site, site.object_store) == Connections(
        api=Reach(
            cidrs=["10.96.0.1/32", "10.20.3.250/32", "10.20.0.11/32", "10.20.0.12/32", "10.20.0.13/32"],
            ports=[443, 6443],
        ),
        nodes=Reach(cidrs=["10.20.0.0/22"]),
        objects=Reach(cidrs=("10.20.2.0/28",), ports=[443]),
    )
    assert metal.kubeconfig_command(site) == "ssh -p 22 ops@10.20.0.11 sudo cat /etc/kubernetes/admin.conf"


@pytest.mark.parametrize(
    ("endpoint", "port"), [("https://s3.example", 443), ("http://s3.example", 80), ("http://s3.example:9000", 9000)]
)
def test_the_object_store_is_reached_at_the_port_of_its_address(endpoint: str, port: int) -> None:
    site = planned("everything").site
    assert site
    assert site.object_store
    store = site.object_store.model_copy(update={"endpoint": endpoint})
    assert metal.connections(site, store).objects.ports == [port]


def test_what_lies_on_a_nodes_own_disks_goes_with_its_pod_s07() -> None:
    """An emptyDir is the pod's: the kubelet deletes it with it, staged data and local saves alike."""
    assert InstanceStore().volume(7) == {"emptyDir": {}}
    assert Scratch().volume(7) == {"emptyDir": {"sizeLimit": "7G"}}
