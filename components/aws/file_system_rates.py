"""What reads the rates of an FSx file system from CloudWatch, for Prometheus (X05).

A script of ours and not an exporter that looks for resources by their tags: the file system is known, one action is
enough, and each metric that is asked for is charged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components._base import Component
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, statement_document
from components.platform.accounts import service_account
from components.platform.node_files import node_files
from components.platform.scripted import Script, scripted

NAME = "file-system"
SCRIPTS = "/opt/gpucluster/file-system"
LABELS = {"gpucluster/file-system": "true"}
PORT = 9291
LOOK_SECONDS = 60
"""FSx tells CloudWatch once a minute (FSx for Lustre user guide, "Monitoring with Amazon CloudWatch")."""

READS = {"Sid": "ReadMetrics", "Effect": "Allow", "Action": "cloudwatch:GetMetricData", "Resource": "*"}
"""The action knows no resources (Service authorization reference, Amazon CloudWatch)."""


def rates_files() -> dict[str, str]:
    """Modules by name, with the one that serves samples, which the script finds beside it."""
    return node_files("file_system/rates.py", "file_system/signing.py", "exposed/*.py")


@dataclass(frozen=True, kw_only=True)
class FileSystemRatesArgs:
    """The file system `file_system_id` of `capacity_bytes`, which carries so many bytes a second, in a region.

    `image` has Python; `files` are the script's, by name.
    """

    namespace: pulumi.Input[str]
    image: str
    files: Mapping[str, str]
    cluster_name: pulumi.Input[str]
    partition: pulumi.Input[str]
    region: str
    file_system_id: pulumi.Output[str]
    capacity_bytes: int
    bytes_per_second: int
    after: Sequence[pulumi.Resource] = ()


class FileSystemRates(Component):
    """The Deployment, the role of its pod, and a Service of LABELS, which serves /metrics."""

    def __init__(self, name: str, args: FileSystemRatesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        identity = PodIdentity(
            self.named("identity"),
            PodIdentityArgs(
                cluster_name=args.cluster_name,
                namespace=args.namespace,
                service_account=NAME,
                document=statement_document([READS]),
            ),
            self.child(),
        )
        suffix = pulumi.Output.from_input(args.partition).apply(
            lambda each: "amazonaws.com.cn" if each == "aws-cn" else "amazonaws.com"
        )
        script = Script(
            image=args.image,
            directory=SCRIPTS,
            files=args.files,
            command=[
                "python3",
                f"{SCRIPTS}/rates.py",
                pulumi.Output.concat("--file-system=", args.file_system_id),
                f"--region={args.region}",
                pulumi.Output.concat(f"--address=https://monitoring.{args.region}.", suffix),
                f"--capacity={args.capacity_bytes}",
                f"--rate={args.bytes_per_second}",
                f"--listen={PORT}",
                f"--look-seconds={LOOK_SECONDS}",
            ],
            labels=LABELS,
            memory="128Mi",
            port=PORT,
        )
        account = service_account(self, NAME, args.namespace, identity.service_account)
        scripted(self, NAME, args.namespace, account, script, args.after)
        self.register_outputs({})
