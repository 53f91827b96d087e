"""What reads the sensors of machines' management controllers, for Prometheus (B19, F06).

It is the one pod of the cluster that has a way to the controllers: in the network of a machine of the control plane,
which may ask them (ADR 0043). Every other pod is kept from there by that machine's routing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.node_files import node_files
from components.platform.scripted import SECRETS, Script, scripted

NAME = "sensors"
SCRIPTS = "/opt/gpucluster/sensors"
LABELS = {"gpucluster/sensors": "true"}
PORT = 9290
"""Free among ports that exporters of the field are given (Prometheus wiki, Default port allocations), as the pod is in
its machine's network."""

LOOK_SECONDS = 60
"""A supply or a fan that failed waits for a person; controllers are slow. Assumed."""


def sensors_files() -> dict[str, str]:
    """Modules by name, with those that read documents and serve samples, which the script finds beside it."""
    shared = Path(__file__).parents[2] / "redfish" / "__init__.py"
    return {**node_files("sensors/*.py", "exposed/*.py"), "redfish.py": shared.read_text(encoding="utf-8")}


@dataclass(frozen=True, kw_only=True)
class Controller:
    """The controller of a node: `fingerprint` is of its certificate, None where an authority signed it."""

    node: str
    address: str
    port: int
    fingerprint: str | None


@dataclass(frozen=True, kw_only=True)
class SensorsArgs:
    """`controllers` are asked as `user` with `password`; `authority` signed their certificates, as PEM. `image` has
    Python; `files` are the script's, by name.
    """

    namespace: pulumi.Input[str]
    image: str
    files: Mapping[str, str]
    controllers: Sequence[Controller]
    authority: str | None
    user: str
    password: pulumi.Input[str]
    after: Sequence[pulumi.Resource] = ()


class Sensors(Component):
    """The Deployment, its Secret and a Service of LABELS, which serves /metrics."""

    def __init__(self, name: str, args: SensorsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core, named = k8s.core.v1, k8s.meta.v1.ObjectMetaArgs(name=NAME, namespace=args.namespace)
        account = core.ServiceAccount(
            self.named("account"),
            core.ServiceAccountInitArgs(metadata=named, automount_service_account_token=False),
            self.child(),
        )
        secret = core.Secret(
            self.named("password"),
            core.SecretInitArgs(metadata=named, string_data={"password": pulumi.Output.secret(args.password)}),
            self.child(),
        )
        script = Script(
            image=args.image,
            directory=SCRIPTS,
            files={**args.files, **_told(args)},
            command=[
                "python3",
                f"{SCRIPTS}/sensors.py",
                f"--controllers={SCRIPTS}/controllers.json",
                *([f"--authority={SCRIPTS}/authority.pem"] if args.authority else []),
                f"--user={args.user}",
                f"--password={SECRETS}/password",
                f"--listen={PORT}",
                f"--look-seconds={LOOK_SECONDS}",
            ],
            labels=LABELS,
            memory="128Mi",
            secret=secret.metadata.name.apply(str),
            port=PORT,
            on_control_plane=True,
        )
        scripted(self, NAME, args.namespace, account.metadata.name.apply(str), script, args.after)
        self.register_outputs({"controllers": len(args.controllers)})


def _told(args: SensorsArgs) -> dict[str, str]:
    listed = [
        {"node": each.node, "address": each.address, "port": each.port, "fingerprint": each.fingerprint}
        for each in args.controllers
    ]
    authority = {"authority.pem": args.authority} if args.authority else {}
    return {"controllers.json": json.dumps(listed, sort_keys=True), **authority}
