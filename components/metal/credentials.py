"""A new cluster's identity, and its administrator's credentials."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_command as command
import yaml

from components._base import Component
from components.metal.host import Login, as_root, connection

ADMIN = "/etc/kubernetes/admin.conf"


@dataclass(frozen=True, kw_only=True)
class CredentialsArgs:
    """The machine that has the file, and what must be there before it does."""

    login: Login
    address: str
    host_key: str
    after: Sequence[pulumi.Resource]


class Credentials(Component):
    """The administrator's kubeconfig (secret), and one without credentials by which machines know the cluster.

    They are read once, and again where the machine is another: a later change of the machine's text leaves both known,
    so that a preview of it still knows the cluster.
    """

    kubeconfig: pulumi.Output[str]
    discovery: pulumi.Output[str]
    read: command.remote.Command

    def __init__(self, name: str, args: CredentialsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.read = command.remote.Command(
            self.named("read"),
            command.remote.CommandArgs(
                connection=connection(args.login, address=args.address, host_key=args.host_key),
                create=as_root(args.login.user, f"cat {ADMIN}"),
                # Otherwise the provider prints what it read.
                logging=command.remote.Logging.NONE,
                add_previous_output_in_env=False,
            ),
            self.child(depends_on=list(args.after), additional_secret_outputs=["stdout", "stderr"]),
        )
        self.kubeconfig = pulumi.Output.secret(self.read.stdout)
        self.discovery = self.kubeconfig.apply(discovery)
        self.register_outputs({"kubeconfig": self.kubeconfig})


def discovery(kubeconfig: str) -> str:
    """The cluster's address and authority of a kubeconfig, without whoever's it is.

    Source: kubeadm reference, "File or HTTPS-based discovery". Raises ValueError for what is no kubeconfig.
    """
    written = yaml.safe_load(kubeconfig)
    clusters: list[dict[str, Any]] = written.get("clusters", []) if isinstance(written, dict) else []
    if len(clusters) != 1:
        raise ValueError(f"{ADMIN} names {len(clusters)} clusters; it is not what kubeadm writes")
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "", "cluster": clusters[0]["cluster"]}],
            "contexts": [],
            "current-context": "",
            "users": [],
        },
        sort_keys=True,
    )
