"""kubectl inside the cluster: a Job with an account and rights of its own, done when its commands have succeeded."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.confinement import NOBODY, confined
from components.platform.jobs import one_off_job
from components.platform.rights import account_of, given_everywhere

FILES = "/fetched"
IDENTITY = "/var/run/secrets/kubernetes.io/serviceaccount"
_FETCH = 'wget -q -O "$2" "$1" && echo "$3  $2" | sha256sum -c -'


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A file at `url` that commands find at `path`, if it has this hash. `image` has a shell, wget and sha256sum."""

    url: str
    sha256: str
    image: str
    name: str = "file"

    @property
    def path(self) -> str:
        return f"{FILES}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class KubectlJobArgs:
    """`commands` of kubectl by name run all at once; where one fails all are tried again, six times. Those of `first`
    are a Job of their own before them, since Pulumi tells what main containers say and nothing of others (LF19).

    `files` are fetched for those of `first`, each by a container without an identity before them. `program` is what of
    the image takes the commands.

    `rights` are what they need, in the whole cluster. Another `revision` is another Job, as are other commands
    or another image: a Job's template cannot change. `minutes` is a Job's deadline. `after` are what lets pods run.
    """

    namespace: pulumi.Input[str]
    image: str
    rights: Sequence[k8s.rbac.v1.PolicyRuleArgs]
    commands: Mapping[str, Sequence[str]]
    minutes: int
    first: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Sequence[Fetched] = ()
    program: str = "kubectl"
    revision: str = ""
    after: Sequence[pulumi.Resource] = ()


def rights(
    group: str, resources: str, verbs: Sequence[str], names: Sequence[str] | None = None
) -> k8s.rbac.v1.PolicyRuleArgs:
    """A rule of RBAC. `names` limits `list` and `watch` too, which kubectl opens for one object by its name."""
    return k8s.rbac.v1.PolicyRuleArgs(
        api_groups=[group],
        resources=[resources],
        verbs=list(verbs),
        resource_names=list(names) if names is not None else None,
    )


def kubectl_job(parent: Component, role: str, args: KubectlJobArgs) -> k8s.batch.v1.Job:
    """The Job as `role` of a component with no other one; account and rights are named like the component."""
    name = parent.pulumi_resource_name
    account = account_of(parent, "account", name, args.namespace).metadata.name.apply(str)
    binding = given_everywhere(parent, name, args.namespace, list(args.rights))

    def job(
        role: str,
        commands: Mapping[str, Sequence[str]],
        after: Sequence[pulumi.Resource],
        files: Sequence[Fetched] = (),
    ) -> k8s.batch.v1.Job:
        version = _version(args, {**args.first, **commands})
        return k8s.batch.v1.Job(
            parent.named(role),
            one_off_job(
                name=physical_name(name, version, limit=63),
                namespace=args.namespace,
                account=account,
                before=[_fetch(each) for each in files],
                steps=[_step(name, args, arguments, fetched=bool(files)) for name, arguments in commands.items()],
                volumes=_volumes() if files else (),
                automount=not files,
                backoff_limit=6,
                seconds=args.minutes * 60,
            ),
            parent.child(
                depends_on=[binding, *after],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{args.minutes}m", update=f"{args.minutes}m"),
            ),
        )

    first = [job(f"{role}-first", args.first, args.after, args.files)] if args.first else []
    return job(role, args.commands, [*args.after, *first])


def _version(args: KubectlJobArgs, commands: Mapping[str, Sequence[str]]) -> str:
    fetched = [word for each in args.files for word in (each.image, each.url, each.sha256)]
    said = " ".join(
        [args.image, args.program, args.revision, *fetched, *(word for words in commands.values() for word in words)]
    )
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def _step(name: str, args: KubectlJobArgs, arguments: Sequence[str], *, fetched: bool) -> k8s.core.v1.ContainerArgs:
    mount = k8s.core.v1.VolumeMountArgs
    mounts = [
        mount(name="identity", mount_path=IDENTITY, read_only=True),
        mount(name="fetched", mount_path=FILES, read_only=True),
    ]
    return _container(name, args.image, [args.program], arguments, mounts if fetched else None)


def _fetch(file: Fetched) -> k8s.core.v1.ContainerArgs:
    mounts = [k8s.core.v1.VolumeMountArgs(name="fetched", mount_path=FILES)]
    words = ["fetch", file.url, file.path, file.sha256]
    role = "fetch" if file.name == Fetched.name else f"fetch-{file.name}"
    return _container(role, file.image, ["sh", "-c", _FETCH], words, mounts)


def _volumes() -> list[k8s.core.v1.VolumeArgs]:
    """A place for the file, and what the kubelet mounts of an account by itself, for those that are to have it."""
    core = k8s.core.v1
    token = core.ServiceAccountTokenProjectionArgs(path="token", expiration_seconds=3600)
    authority = core.ConfigMapProjectionArgs(
        name="kube-root-ca.crt", items=[core.KeyToPathArgs(key="ca.crt", path="ca.crt")]
    )
    where = core.DownwardAPIVolumeFileArgs(
        path="namespace", field_ref=core.ObjectFieldSelectorArgs(field_path="metadata.namespace")
    )
    sources = [
        core.VolumeProjectionArgs(service_account_token=token),
        core.VolumeProjectionArgs(config_map=authority),
        core.VolumeProjectionArgs(downward_api=core.DownwardAPIProjectionArgs(items=[where])),
    ]
    return [
        core.VolumeArgs(name="fetched", empty_dir=core.EmptyDirVolumeSourceArgs(size_limit="16Mi")),
        core.VolumeArgs(name="identity", projected=core.ProjectedVolumeSourceArgs(sources=sources)),
    ]


def _container(
    name: str,
    image: str,
    command: list[str],
    arguments: Sequence[str],
    mounts: list[k8s.core.v1.VolumeMountArgs] | None,
) -> k8s.core.v1.ContainerArgs:
    return k8s.core.v1.ContainerArgs(
        name=name,
        image=image,
        command=command,
        args=list(arguments),
        volume_mounts=mounts,
        termination_message_policy="FallbackToLogsOnError",
        security_context=confined(user=NOBODY, writes=False),
        resources=k8s.core.v1.ResourceRequirementsArgs(
            requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "256Mi"}
        ),
    )
