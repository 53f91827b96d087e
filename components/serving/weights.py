"""A Job that copies a model's weights from S3 to the shared file system, once per change of source (Q05)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.accounts import service_account
from components.platform.pods import toleration_args
from components.platform.taints import POOL_KEY, Taint

MODELS = "/models"
SUB_PATH = "models"


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightsArgs:
    """`source` is s3://bucket/prefix. `granted` resolves when pods of `service_account` may read there.

    The Job runs on the pool that will serve the model: it is in the file system's zone.
    """

    service: str
    source: str
    image: str
    namespace: pulumi.Input[str]
    service_account: str
    granted: pulumi.Input[str]
    claim: pulumi.Input[str]
    pool: str
    taints: Sequence[Taint]
    nodes_ready: pulumi.Resource
    timeout_seconds: int


class Weights(Component):
    """The copy. `loaded` is the resource that exists when the weights are on the file system."""

    loaded: k8s.batch.v1.Job

    def __init__(self, name: str, args: WeightsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        account = service_account(self, args.service_account, args.namespace, args.granted)
        # A Job's template cannot change, so another source or image is another Job.
        version = hashlib.sha256(f"{args.source} {args.image}".encode()).hexdigest()[:8]
        claim = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.claim)
        copy = core.ContainerArgs(
            name="copy",
            image=args.image,
            command=["aws"],
            args=["s3", "sync", args.source, f"{MODELS}/{args.service}", "--no-progress"],
            resources=core.ResourceRequirementsArgs(
                requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "2", "memory": "2Gi"}
            ),
            security_context=core.SecurityContextArgs(
                allow_privilege_escalation=False, capabilities=core.CapabilitiesArgs(drop=["ALL"])
            ),
            volume_mounts=[core.VolumeMountArgs(name="models", mount_path=MODELS, sub_path=SUB_PATH)],
        )
        self.loaded = k8s.batch.v1.Job(
            self.named("copy"),
            k8s.batch.v1.JobInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    name=physical_name("weights", args.service, version, limit=63), namespace=args.namespace
                ),
                spec=k8s.batch.v1.JobSpecArgs(
                    backoff_limit=6,
                    template=core.PodTemplateSpecArgs(
                        spec=core.PodSpecArgs(
                            service_account_name=account,
                            restart_policy="OnFailure",
                            node_selector={POOL_KEY: args.pool},
                            tolerations=toleration_args(args.taints),
                            containers=[copy],
                            volumes=[core.VolumeArgs(name="models", persistent_volume_claim=claim)],
                        )
                    ),
                ),
            ),
            self.child(
                depends_on=[args.nodes_ready],
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{args.timeout_seconds}s", update=f"{args.timeout_seconds}s"
                ),
            ),
        )
        self.register_outputs({"source": args.source})
