"""Who reaches a cluster's API server, and what those see who do not (LF02)."""

import contextlib
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from rehearsal.cloud.seen.network import Groups
from rehearsal.cluster import layout
from rehearsal.cluster.layout import Layout
from rehearsal.eks.front import Front
from rehearsal.eks.reach import barred
from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.session import Session
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.testing.answering import Said, answering

VPC = ("10.64.0.0/16",)
OFFICE, ELSEWHERE, CONNECTED, IN_VPC = "203.0.113.9", "198.51.100.9", "10.8.1.2", "10.64.3.4"


def config(public: tuple[str, ...] = (), private: bool = True) -> dict[str, Any]:
    return {
        "endpointPublicAccess": bool(public),
        "endpointPrivateAccess": private,
        "publicAccessCidrs": list(public) or ["0.0.0.0/0"],
        "clusterSecurityGroupId": "sg-eks",
        "securityGroupIds": ["sg-own"],
    }


def groups(*cidrs: str, group: str = "sg-eks", port: int = 443) -> Groups:
    """The cluster's groups as EKS makes them, all traffic of their own, and these networks on one port."""
    itself: dict[str, Any] = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-eks"}], "IpRanges": []}
    others = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "IpRanges": [{"CidrIp": each} for each in cidrs]}
    rules: dict[str, list[dict[str, Any]]] = {"sg-eks": [itself], "sg-own": []}
    rules[group] = [*rules[group], others]
    return Groups.of([{"GroupId": name, "IpPermissions": found} for name, found in rules.items()])


@pytest.mark.parametrize(
    ("endpoint", "rules", "caller", "why"),
    [
        (config(("203.0.113.0/24",)), groups(), OFFICE, None),
        (config(("203.0.113.0/24",)), groups(), None, None),
        (config(("203.0.113.0/24",)), groups(), ELSEWHERE, "198.51.100.9 is in none of publicAccessCidrs"),
        (config(("0.0.0.0/0",), private=False), groups(), ELSEWHERE, None),
        (config(("203.0.113.0/24",), private=False), groups("10.0.0.0/8"), CONNECTED, "there is no private endpoint"),
        (config(), groups(), None, "the endpoint is private"),
        (config(), groups("0.0.0.0/0"), OFFICE, "the endpoint is private"),
        (config(), groups(), CONNECTED, "no rule of sg-eks, sg-own lets 10.8.1.2 in on TCP 443"),
        (config(), groups("10.8.0.0/16", port=80), CONNECTED, "no rule of"),
        (config(), groups("10.9.0.0/16"), CONNECTED, "no rule of"),
        (config(), groups("10.8.0.0/16"), CONNECTED, None),
        (config(), groups("10.8.0.0/16", group="sg-own"), CONNECTED, None),
        (config(), groups(), IN_VPC, "no rule of"),
        (config(), groups("10.64.0.0/16"), IN_VPC, None),
        (config(("203.0.113.0/24",)), groups("10.8.0.0/16"), CONNECTED, None),
    ],
)
def test_the_endpoint_answers_as_eks_does_lf02(
    endpoint: dict[str, Any], rules: Groups, caller: str | None, why: str | None
) -> None:
    found = barred(endpoint, rules, VPC, caller)
    assert (found is None) == (why is None), found
    assert (why or "") in (found or "")


def test_a_vpc_of_other_addresses_is_inside_too_lf02() -> None:
    assert barred(config(), groups("0.0.0.0/0"), ("198.18.0.0/16",), "198.18.0.9") is None


class Endpoint:
    """A front whose `reason` can be set, before a server that tells its version; `session()` is a run's provider."""

    def __init__(self, directory: Path) -> None:
        self.reason: str | None = None
        self.lost = False
        self._clients: list[Kube] = []
        self._files = Layout(directory)
        layout.write_keys(self._files)

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self._files.certificate("apiserver"), self._files.key("apiserver"))
        self._stack = contextlib.ExitStack()
        where = self._stack.enter_context(answering(lambda _: Said({"gitVersion": "v1.36.3"}), tls=tls))
        self.front = Front(int(where.partition(":")[2]), self._ask)
        self.front.start()

    def _ask(self) -> str | None:
        if self.lost:
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")
        return self.reason

    def session(self) -> Session:
        cluster = {"server": self.front.endpoint, "certificate-authority": str(self._files.ca)}
        text = json.dumps(
            {
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "c",
            }
        )
        chosen = ProviderSettings(kubeconfig=text)
        client = chosen.connect()
        assert client is not None
        self._clients.append(client)
        return Session(chosen, client, threading.Event(), None)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.front.stop()
        self._stack.close()


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    made = Endpoint(tmp_path)
    yield made
    made.close()


def test_who_is_barred_finds_the_cluster_unreachable_for_the_whole_run_lf02(endpoint: Endpoint) -> None:
    endpoint.reason = "the endpoint is private"
    barred_run = endpoint.session()
    assert str(barred_run.unreachable).startswith("configured Kubernetes cluster is unreachable: ")
    endpoint.reason = None
    assert barred_run.unreachable
    assert endpoint.session().unreachable is None


def test_an_endpoint_stays_as_it_was_while_the_account_does_not_answer_lf02(endpoint: Endpoint) -> None:
    endpoint.lost = True
    assert endpoint.session().unreachable is None
    endpoint.reason, endpoint.lost = "the endpoint is private", False
    assert endpoint.session().unreachable
    endpoint.lost = True
    assert endpoint.session().unreachable
