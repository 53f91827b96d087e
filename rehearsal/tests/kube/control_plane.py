"""The rehearsal's own control plane for tests, of an account that does not answer; no node, so no pod ever runs."""

import json
import time
from pathlib import Path
from typing import Any

from rehearsal import cluster, toolchain
from rehearsal.cluster.components import API_SERVER, CONTROLLERS, KWOK, SCHEDULER
from rehearsal.cluster.control_plane import controllers_work
from rehearsal.keys import Account, Keys
from rehearsal.kube.client import Kube


class ControlPlane(cluster.ControlPlane):
    """One cluster with two service accounts in `default`: `admin`, and `nobody`, who may do nothing."""

    def __init__(self, directory: Path) -> None:
        account = Account("http://127.0.0.1:1", Keys("AKIATEST", "secret", "word"))
        tools = toolchain.ensure(["etcd", "kubernetes", "kwok"])
        super().__init__(directory, "test", "us-east-1", account, tools, furnish=_two_users)

    def start(self) -> None:
        super().start()
        for name in (SCHEDULER, KWOK):
            self.halt(name)

    def stop_api_server(self) -> None:
        """Stops the API server alone; etcd keeps the objects."""
        self.halt(API_SERVER)

    def start_api_server(self) -> None:
        """Starts the API server again, on the same port and data, and waits until it is ready.

        The controllers start anew with it: left alone they would come back after a pause of up to half a minute.
        """
        self.halt(CONTROLLERS)
        self.restart(API_SERVER)
        kube = self.kube()
        kube.delete({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        self.restart(CONTROLLERS)
        while not controllers_work(kube):
            time.sleep(0.1)
        kube.close()

    def token(self, name: str) -> str:
        """A token of one of the two."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        kube = self.kube()
        path = kube.path("v1", "ServiceAccount", "default", name, "token")
        token = str(kube.call("POST", path, request)["status"]["token"])
        kube.close()
        return token

    def kubeconfig(self, **user: Any) -> str:
        """A kubeconfig's text; `user` are the fields of its user entry (default: the administrator's certificate)."""
        document = json.loads(self.admin_kubeconfig.read_text())
        if user:
            document["users"][0]["user"] = user
        return json.dumps(document)


def _two_users(kube: Kube) -> None:
    for name in ("admin", "nobody"):
        kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
    group = "rbac.authorization.k8s.io"
    kube.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "admin"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "admin", "namespace": "default"}],
        }
    )
