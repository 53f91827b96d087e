"""A Job that downloads one commit of a model from huggingface.co to the shared file system, once (J17, Q05)."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.confinement import confined
from components.platform.jobs import one_off_job
from components.serving.tokens import SecretKey
from components.storage.staged import digest

FILES = "/shared"
DOWNLOAD = """set -e
final="$3" part="$3.partial"
if [ -d "$final" ]; then exit 0; fi
hf download "$1" --revision "$2" --local-dir "$part" --exclude 'original/*'
hf cache verify "$1" --revision "$2" --local-dir "$part"
rm -rf "$part/.cache"
mv "$part" "$final"
"""
"""Downloads $1 at the commit $2 to $3, which is there when all of it is, with the checksums that the hub has of it.

A download that was cut goes on where it was. `original/` are the same weights in their maker's own format, which vLLM
does not read. Source: huggingface_hub 1.28, huggingface_hub/cli/download.py and cli/cache.py (`verify` compares SHA-256
of large files and git's own hash of the others, and ends with 1 where one differs).
"""


@dataclass(frozen=True, kw_only=True)
class HubCopyArgs:
    """`repository` as of the commit `revision` is copied to `directory`/`name`-… of the claim, named `what` for people.

    `image` has a shell and huggingface_hub's `hf`, as vLLM's own has. The Job runs where ordinary pods run, which they
    do after `ready`. `token` is of an account of the hub that may read the model.
    """

    what: str
    name: str
    directory: str
    repository: str
    revision: str
    image: str
    token: SecretKey
    namespace: pulumi.Input[str]
    claim: pulumi.Input[str]
    ready: pulumi.Resource
    timeout_seconds: int


class HubCopy(Component):
    """The copy. `loaded` is the resource that exists when all of it is on the file system, in the directory `path`."""

    loaded: k8s.batch.v1.Job
    path: str

    def __init__(self, name: str, args: HubCopyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        content = digest(args.repository, args.revision)
        self.path = f"{args.directory}/{args.name}-{content}"
        claim = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.claim)
        self.loaded = k8s.batch.v1.Job(
            self.named("copy"),
            one_off_job(
                name=physical_name(args.what, args.name, digest(content, args.image), limit=63),
                namespace=args.namespace,
                account="default",
                steps=[self._download(args, f"{FILES}/{self.path.rpartition('/')[2]}")],
                volumes=[
                    core.VolumeArgs(name="shared", persistent_volume_claim=claim),
                    core.VolumeArgs(name="scratch", empty_dir=core.EmptyDirVolumeSourceArgs(size_limit="1Gi")),
                ],
                automount=False,
                backoff_limit=3,
                seconds=args.timeout_seconds,
            ),
            self.child(
                depends_on=[args.ready],
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{args.timeout_seconds}s", update=f"{args.timeout_seconds}s"
                ),
            ),
        )
        self.register_outputs({"source": f"{args.repository}@{args.revision}", "path": self.path})

    def _download(self, args: HubCopyArgs, target: str) -> k8s.core.v1.ContainerArgs:
        core = k8s.core.v1
        token = core.SecretKeySelectorArgs(name=args.token.name, key=args.token.key)
        return core.ContainerArgs(
            name="download",
            image=args.image,
            command=["sh", "-c", DOWNLOAD],
            args=["download", args.repository, args.revision, target],
            env=[
                core.EnvVarArgs(name="HF_HOME", value="/scratch"),
                core.EnvVarArgs(name="HF_HUB_DISABLE_PROGRESS_BARS", value="1"),
                core.EnvVarArgs(name="HF_TOKEN", value_from=core.EnvVarSourceArgs(secret_key_ref=token)),
            ],
            termination_message_policy="FallbackToLogsOnError",
            resources=core.ResourceRequirementsArgs(
                requests={"cpu": "1", "memory": "2Gi"}, limits={"cpu": "2", "memory": "4Gi"}
            ),
            security_context=confined(),
            volume_mounts=[
                core.VolumeMountArgs(name="shared", mount_path=FILES, sub_path=args.directory),
                core.VolumeMountArgs(name="scratch", mount_path="/scratch"),
            ],
        )
