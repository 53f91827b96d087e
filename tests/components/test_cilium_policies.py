"""Policies that only Cilium has, as the cluster gets them."""

import pulumi

from components.metal.cilium import controllers_denied, hosts_reached
from tests.components.samples import Make, Options, done
from tests.components.test_registered import registered


def denied(opts: Options) -> pulumi.Resource:
    return controllers_denied("sample-denied", "10.20.4.0/24", after=done("nodes"), opts=opts)


def reached(*hosts: str) -> Make:
    return lambda opts: hosts_reached("sample-hosts", "team-vision", hosts, after=done("nodes"), opts=opts)


def test_no_pod_speaks_with_a_controller_and_everything_else_stays_as_it_is() -> None:
    assert registered(denied) == {
        "sample-denied": {
            "type": "kubernetes:cilium.io/v2:CiliumClusterwideNetworkPolicy",
            "after": ["nodes"],
            "inputs": {
                "metadata": {"name": "gpucluster-controllers"},
                "spec": {
                    "endpointSelector": {},
                    "egressDeny": [{"toCIDR": ["10.20.4.0/24"]}],
                    "enableDefaultDeny": {"egress": False, "ingress": False},
                },
            },
        }
    }


NAMES = {
    "toEndpoints": [{"matchLabels": {"k8s:io.kubernetes.pod.namespace": "kube-system", "k8s:k8s-app": "kube-dns"}}],
    "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}], "rules": {"dns": [{"matchPattern": "*"}]}}],
}


def test_pods_ask_for_every_name_and_speak_with_those_that_are_named() -> None:
    assert registered(reached("pypi.org", "*.pypi.org")) == {
        "sample-hosts": {
            "type": "kubernetes:cilium.io/v2:CiliumNetworkPolicy",
            "after": ["nodes"],
            "inputs": {
                "metadata": {"name": "hosts", "namespace": "team-vision"},
                "spec": {
                    "endpointSelector": {},
                    "egress": [
                        NAMES,
                        {
                            "toFQDNs": [{"matchName": "pypi.org"}, {"matchPattern": "*.pypi.org"}],
                            "toPorts": [{"ports": [{"port": "443", "protocol": "TCP"}]}],
                        },
                    ],
                },
            },
        }
    }
    assert registered(reached())["sample-hosts"]["inputs"]["spec"]["egress"] == [NAMES], "nobody, not everybody"
