"""What the API server refused, in the words of pulumi-kubernetes (provider/pkg/provider/provider.go)."""

from collections.abc import Mapping
from typing import Any

from rehearsal.kube.client import ApiError, CredentialsFailed, Unreachable
from rehearsal.plugins.kubernetes.objects import title
from rehearsal.plugins.servicer import OwnWordsError, PluginError

ALREADY_THERE = """

The resource already exists in the cluster. The usual causes, and what to do:

  - The Pulumi resource was renamed: give it an alias of its old name.
  - Something else manages the object: own single fields of it with a Patch resource,
    such as NamespacePatch, and leave its life to others.
  - The object is to belong to this stack from now on: bring it in with `pulumi import`.
    What is protected, or made by Kubernetes itself, cannot be deleted on destroy.
  - Existing objects are to be overwritten on purpose: set upsertExistingObjects
    on the provider.
"""
"""pulumi-kubernetes adds as many lines (await/await.go, Creation); these are in our words."""


def not_created(urn: str, error: ApiError | Unreachable, obj: Mapping[str, Any]) -> OwnWordsError:
    """Why nothing was made (provider.go, Create)."""
    if isinstance(error, ApiError) and error.reason == "NoMatch":
        version, kind = obj.get("apiVersion"), obj.get("kind")
        return OwnWordsError(
            f'creation of resource "{urn}" with kind {version}/{kind} failed because the Kubernetes API server '
            "reported that the apiVersion for this resource does not exist. Verify that any required CRDs have been "
            f'created: no matches for kind "{kind}" in version "{version}"'
        )
    more = ALREADY_THERE if isinstance(error, ApiError) and error.reason == "AlreadyExists" else ""
    return OwnWordsError(f'resource "{urn}" was not successfully created by the Kubernetes API server: {error}{more}')


def half_made(urn: str, reasons: list[str]) -> list[str]:
    """Why an object that exists is not ready (provider.go, Create)."""
    text = (
        f'resource "{urn}" was successfully created, but the Kubernetes API server reported that it failed to fully '
        "initialize or become live: "
    )
    return [text + reasons[0], *reasons[1:]]


def half_updated(name: str, reasons: list[str]) -> list[str]:
    """Why an object is not what the update makes of it (provider.go, Update)."""
    text = f'the Kubernetes API server reported that "{name}" failed to fully initialize or become live: '
    return [text + reasons[0], *reasons[1:]]


def conflict(error: ApiError | Unreachable, manager: str) -> str:
    """What the API server refused to apply, with pulumi-kubernetes' help about conflicts (await.go, handleSSAErr)."""
    if not isinstance(error, ApiError) or error.code != 409:
        return str(error)
    return (
        "server-side apply field conflict detected, see https://www.pulumi.com/registry/packages/kubernetes/"
        "how-to-guides/managing-resources-with-server-side-apply/#handle-field-conflicts-on-existing-resources "
        f'for troubleshooting help\nThe resource managed by field manager "{manager}" had an apply conflict: {error}'
    )


def refused(error: ApiError | Unreachable, obj: Mapping[str, Any]) -> PluginError:
    """The error for the person at the terminal; the server's own sentence stays in it word for word."""
    if isinstance(error, Unreachable):
        return PluginError(f"configured Kubernetes cluster is unreachable: {error}")
    return PluginError(f"{title(obj)}: {error}{_remedy(error)}")


def _remedy(error: ApiError) -> str:
    if error.code == 401 and not isinstance(error, CredentialsFailed):
        return ". Map the principal behind these credentials to the cluster (on EKS an access entry)"
    if error.reason == "NoMatch":
        return ". Verify that the CustomResourceDefinition is installed, and that this resource depends on it"
    return ""
