"""A Job that copies a model's weights from S3 to the shared file system, once per change of source (Q05)."""

import hashlib
import shlex
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.accounts import service_account
from components.platform.copying import copying_container
from components.platform.jobs import one_off_job

MODELS = "/models"
SUB_PATH = "models"


@dataclass(frozen=True, kw_only=True)
class WeightsArgs:
    """`source` is s3://bucket/prefix. `granted` resolves when pods of `service_account` may read there.

    The Job runs where ordinary pods run, which they do after `ready`: the processors of a GPU node belong to the
    service that is to get another model.
    """

    service: str
    source: str
    image: str
    namespace: pulumi.Input[str]
    service_account: str
    granted: pulumi.Input[str]
    claim: pulumi.Input[str]
    ready: pulumi.Resource
    timeout_seconds: int


class Weights(Component):
    """The copy. `loaded` is the resource that exists when the weights are on the file system, below `path`.

    Another source is another directory: the server that still reads the old one keeps it, and the one to come differs.
    """

    loaded: k8s.batch.v1.Job
    path: str

    def __init__(self, name: str, args: WeightsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        account = service_account(self, args.service_account, args.namespace, args.granted)
        self.path = f"{MODELS}/{args.service}-{_digest(args.source)}"
        claim = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.claim)
        look = copying_container(args.image, "look", ["sh", "-c", look_script(args.source)])
        copy = copying_container(
            args.image,
            "copy",
            ["aws"],
            args=["s3", "sync", args.source, self.path, "--no-progress"],
            volume_mounts=[core.VolumeMountArgs(name="models", mount_path=MODELS, sub_path=SUB_PATH)],
        )
        self.loaded = k8s.batch.v1.Job(
            self.named("copy"),
            one_off_job(
                # A Job's template cannot change, so another source or image is another Job.
                name=physical_name("weights", args.service, _digest(args.source, args.image), limit=63),
                namespace=args.namespace,
                account=account,
                steps=[look, copy],
                volumes=[core.VolumeArgs(name="models", persistent_volume_claim=claim)],
                backoff_limit=3,
            ),
            self.child(
                depends_on=[args.ready],
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{args.timeout_seconds}s", update=f"{args.timeout_seconds}s"
                ),
            ),
        )
        self.register_outputs({"source": args.source, "path": self.path})


def look_script(source: str) -> str:
    """Fails where nothing lies below `source`: to `aws s3 sync` that is no error, and the server would start empty."""
    sentence = f"no object lies below {source}/: upload the weights there, or correct the address in the stack file"
    return f"aws s3 ls {shlex.quote(source + '/')} > /dev/null || {{ echo {shlex.quote(sentence)} >&2; exit 1; }}"


def _digest(*values: str) -> str:
    return hashlib.sha256(" ".join(values).encode()).hexdigest()[:8]
