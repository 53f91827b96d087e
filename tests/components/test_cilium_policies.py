"""Policies that only Cilium has, as the cluster gets them."""

from components.metal.cilium import hosts_reached
from tests.components.samples import Make, done
from tests.components.test_registered import registered


def reached(*hosts: str) -> Make:
    return lambda opts: hosts_reached("sample-hosts", "team-vision", hosts, after=done("nodes"), opts=opts)


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
