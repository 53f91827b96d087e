"""The door of a model server: an nginx beside it in the pod, which lets named paths through to those who have a key.

vLLM's own key guards the paths below /v1 alone: /invocations, /tokenize and others answer anybody (vLLM 0.29.0,
vllm/entrypoints/serve/middleware/authenticate.py). Triton asks for none. So either listens on the pod's loopback, and
what a caller reaches is this: what its `Behind` opens with a key, its health paths, /metrics with the scraper's key,
and nothing else. The rules hold no secret and stand in a ConfigMap; the keys come from a Secret as a file, so that
neither a command line nor an environment shows them.

Where a service is open to members of groups, who has no key is judged by the issuer's token that they bring: nginx
asks oauth2-proxy, which knows the issuer's keys. A request with a key asks nobody, and goes on where oauth2-proxy is
down.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.confinement import confined
from components.platform.node_files import node_files
from components.platform.pods import PodShape
from components.serving.arguments import PORT
from components.serving.door_rules import CONFIG, SCRATCH, Behind, rules
from components.serving.keys import ADMITTED, CallerKeys

RULES, SERVE = "nginx.conf", "serve.sh"
"""The rules; and what has nginx read its files again, where keys change in place."""
USER = 101
"""Whom nginx's images know as nginx (nginx/docker-nginx, unprivileged/stable/debian/Dockerfile)."""

CPU_MILLICORES, MEMORY_MIB = 100, 128


@dataclass(frozen=True, kw_only=True)
class Door:
    """`image` is nginx's. `keys` are what callers and the scraper come in with. `behind` is the server it guards, which
    is open to members of `groups` by a token of their issuer's, too.
    """

    image: str
    keys: CallerKeys
    behind: Behind
    groups: Sequence[str] = ()


def beside(shape: PodShape) -> PodShape:
    """What is left of a pod's part of its node for the server itself."""
    return replace(
        shape,
        cpu_millicores=max(0, shape.cpu_millicores - CPU_MILLICORES),
        memory_mib=shape.memory_mib - MEMORY_MIB,
    )


def command(drain_seconds: int, *, follows: bool = False) -> list[str]:
    """nginx in the foreground, without the image's entry point, which writes to its own directories.

    After SIGQUIT it takes no more requests, and goes on with those it has for `drain_seconds`; so do workers that have
    read older files, where it `follows` the keys.
    """
    main = f"daemon off; worker_shutdown_timeout {drain_seconds}s;"
    server = ["nginx", "-e", "stderr", "-c", f"{CONFIG}/rules/{RULES}", "-g", main]
    return ["sh", f"{CONFIG}/rules/{SERVE}", f"{CONFIG}/keys/{ADMITTED}", *server] if follows else server


def rules_for(owner: Component, service: str, namespace: pulumi.Input[str], door: Door) -> k8s.core.v1.ConfigMap:
    """The ConfigMap of a service's rules, named by what it holds: other rules are other pods."""
    files = {RULES: rules(door.behind, door.groups)}
    if door.keys.follows:
        files |= node_files(f"door/{SERVE}")
    digest = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:8]
    return k8s.core.v1.ConfigMap(
        owner.named("door-rules"),
        metadata=k8s.meta.v1.ObjectMetaArgs(name=physical_name(service, "door", digest, limit=63), namespace=namespace),
        immutable=True,
        data=files,
        opts=owner.child(),
    )


def container(door: Door, leave_seconds: int, drain_seconds: int) -> k8s.core.v1.ContainerArgs:
    """The side-car. A kubelet stops it by SIGQUIT, the image's stop signal, when all have heard that the pod leaves."""
    core = k8s.core.v1
    amounts = {"cpu": f"{CPU_MILLICORES}m", "memory": f"{MEMORY_MIB}Mi"}
    leave = core.LifecycleHandlerArgs(sleep=core.SleepActionArgs(seconds=leave_seconds))
    return core.ContainerArgs(
        name="door",
        image=door.image,
        command=command(drain_seconds, follows=door.keys.follows),
        termination_message_policy="FallbackToLogsOnError",
        ports=[core.ContainerPortArgs(name="http", container_port=PORT)],
        lifecycle=core.LifecycleArgs(pre_stop=leave),
        liveness_probe=core.ProbeArgs(
            tcp_socket=core.TCPSocketActionArgs(port="http"), period_seconds=30, failure_threshold=3, timeout_seconds=5
        ),
        resources=core.ResourceRequirementsArgs(limits=amounts, requests=amounts),
        security_context=confined(user=USER, writes=False),
        volume_mounts=[
            core.VolumeMountArgs(name="door-rules", mount_path=f"{CONFIG}/rules", read_only=True),
            core.VolumeMountArgs(name="door-keys", mount_path=f"{CONFIG}/keys", read_only=True),
            core.VolumeMountArgs(name="door-scratch", mount_path=SCRATCH),
        ],
    )


def volumes(door: Door, rules: k8s.core.v1.ConfigMap) -> list[k8s.core.v1.VolumeArgs]:
    """Of the Secret the door sees the file of admitted keys only."""
    core = k8s.core.v1
    admitted = core.SecretVolumeSourceArgs(
        secret_name=door.keys.name, items=[core.KeyToPathArgs(key=ADMITTED, path=ADMITTED)]
    )
    return [
        core.VolumeArgs(
            name="door-rules", config_map=core.ConfigMapVolumeSourceArgs(name=rules.metadata.name.apply(str))
        ),
        core.VolumeArgs(name="door-keys", secret=admitted),
        core.VolumeArgs(name="door-scratch", empty_dir=core.EmptyDirVolumeSourceArgs(size_limit="1Gi")),
    ]
