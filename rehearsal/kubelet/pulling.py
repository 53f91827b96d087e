"""Pulling an image that no registry has: what containerd answers, and what the kubelet makes of it."""

from rehearsal.kubelet.lifecycle import BACKOFF_FIRST, BACKOFF_MOST, Container, Note
from rehearsal.kubelet.program import TIME_SCALE

_HUB = "docker.io"
_SYNC_SECONDS = 0.5
"""Until the kubelet looks again after a failed pull."""


class PullError(Exception):
    """No registry has the image."""


def refusal(reference: str) -> str:
    """What containerd says of an image that is not there.

    Docker Hub does not tell a repository that is absent from one that is private; other registries say "not found".
    Source: containerd, core/remotes/docker/resolver.go and scope.go; distribution/reference for the full name.
    """
    full = _full(reference)
    why = (
        "pull access denied, repository does not exist or may require authorization: server message: "
        "insufficient_scope: authorization failed"
        if full.startswith(f"{_HUB}/")
        else f"{full}: not found"
    )
    return f'failed to pull and unpack image "{full}": failed to resolve reference "{full}": {why}'


def wait(container: Container, now: float) -> float:
    """The container waits for its image: one failed pull, then the back-off; monotonic time of the next try.

    Source: Kubernetes, pkg/kubelet/images/image_manager.go: the back-off begins with the first failure and doubles,
    from 10 s to 300 s of life.
    """
    image = str(container.spec["image"])
    if container.reason not in ("ErrImagePull", "ImagePullBackOff"):
        text = refusal(image)
        container.notes += [
            Note("Normal", "Pulling", f'Pulling image "{image}"'),
            Note("Warning", "Failed", f'Failed to pull image "{image}": {text}'),
            Note("Warning", "Failed", "Error: ErrImagePull"),
        ]
        container.reason, container.message, container.backoff = "ErrImagePull", text, BACKOFF_FIRST
        container.restart_at = now + _SYNC_SECONDS
    else:
        if container.reason == "ErrImagePull":
            container.notes.append(Note("Normal", "BackOff", f'Back-off pulling image "{image}"'))
            container.notes.append(Note("Warning", "Failed", "Error: ImagePullBackOff"))
        container.reason = "ImagePullBackOff"
        container.message = f'Back-off pulling image "{image}": ErrImagePull: {refusal(image)}'
        container.restart_at = now + container.backoff / TIME_SCALE
        container.backoff = min(BACKOFF_MOST, container.backoff * 2)
    container.phase = "waiting"
    return container.restart_at


def _full(reference: str) -> str:
    """The name with its host and tag, as containerd writes it."""
    head, slash, _ = reference.partition("/")
    hosted = bool(slash) and ("." in head or ":" in head or head == "localhost")
    named = reference if hosted else f"{_HUB}/{reference if slash else f'library/{reference}'}"
    return named if "@" in named or ":" in named.rpartition("/")[2] else f"{named}:latest"
