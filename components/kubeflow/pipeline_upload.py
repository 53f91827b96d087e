"""A compiled pipeline in Kubeflow Pipelines: a Job uploads it when its content has changed, as a further version."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.confinement import NOBODY, confined
from components.platform.jobs import one_off_job
from components.platform.node_files import node_files

UPLOADS = {"gpucluster/pipelines": "upload"}
"""Label of the pods that upload, by which they reach the API server of Kubeflow Pipelines."""

SCRIPTS = "/opt/gpucluster/upload"
SECONDS = 900


def upload_files() -> dict[str, str]:
    """The script that uploads and what it imports, by name."""
    return node_files("pipelines/steps.py", "pipelines/upload.py")


@dataclass(frozen=True, kw_only=True)
class PipelineUploadArgs:
    """`content` of the pipeline `pipeline`, whose version is called `version`, to the server at `address`; `image` has
    Python. `server` exists when the server takes it.
    """

    pipeline: str
    version: str
    content: str
    namespace: pulumi.Input[str]
    image: str
    address: str
    files: Mapping[str, str]
    server: pulumi.Resource


class PipelineUpload(Component):
    """The Job. `uploaded` exists when the version is there."""

    uploaded: k8s.batch.v1.Job

    def __init__(self, name: str, args: PipelineUploadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        told = hashlib.sha256(repr((args.content, args.version, sorted(args.files.items()))).encode()).hexdigest()[:8]
        called = physical_name("upload", args.pipeline, told, limit=63)
        kept = core.ConfigMap(
            self.named("files"),
            core.ConfigMapInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=called, namespace=args.namespace),
                data={**args.files, "pipeline.yaml": args.content},
            ),
            self.child(),
        )
        container = core.ContainerArgs(
            name="upload",
            image=args.image,
            command=["python3", f"{SCRIPTS}/upload.py"],
            args=[
                f"--server={args.address}",
                f"--name={args.pipeline}",
                f"--version={args.version}",
                f"--file={SCRIPTS}/pipeline.yaml",
            ],
            termination_message_policy="FallbackToLogsOnError",
            resources=core.ResourceRequirementsArgs(
                requests={"cpu": "50m", "memory": "64Mi"}, limits={"cpu": "1", "memory": "128Mi"}
            ),
            security_context=confined(user=NOBODY, writes=False),
            volume_mounts=[core.VolumeMountArgs(name="files", mount_path=SCRIPTS, read_only=True)],
        )
        self.uploaded = k8s.batch.v1.Job(
            self.named("job"),
            # A Job's template cannot change, so another content is another Job.
            one_off_job(
                name=called,
                namespace=args.namespace,
                account=None,
                labels=UPLOADS,
                steps=[container],
                volumes=[
                    core.VolumeArgs(
                        name="files", config_map=core.ConfigMapVolumeSourceArgs(name=kept.metadata.name.apply(str))
                    )
                ],
                automount=False,
                backoff_limit=3,
                seconds=SECONDS,
            ),
            self.child(
                depends_on=[args.server],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{SECONDS}s", update=f"{SECONDS}s"),
            ),
        )
        self.register_outputs({"version": args.version})
