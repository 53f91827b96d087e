"""Turns what the API server refused into a sentence with what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.kube.client import ApiError, CredentialsFailed, Unreachable
from rehearsal.plugins.kubernetes.objects import dig, title
from rehearsal.plugins.servicer import PluginError


def refused(error: ApiError | Unreachable, obj: Mapping[str, Any]) -> PluginError:
    """The error for the person at the terminal; the server's own sentence stays in it word for word."""
    if isinstance(error, Unreachable):
        return PluginError(f"configured Kubernetes cluster is unreachable: {error}")
    return PluginError(f"{title(obj)}: {error}{_remedy(error, obj)}")


def _remedy(error: ApiError, obj: Mapping[str, Any]) -> str:
    if error.code == 401 and not isinstance(error, CredentialsFailed):
        return ". Map the principal behind these credentials to the cluster (on EKS an access entry)"
    if error.reason == "NoMatch":
        return ". Verify that the CustomResourceDefinition is installed, and that this resource depends on it"
    if error.reason == "AlreadyExists":
        return ". Rename this one, delete the existing object, or bring it into the state with `pulumi import`"
    if error.code == 409 and dig(error.body, "details", "causes"):
        return ". Leave these fields to their manager, or take them with the annotation pulumi.com/patchForce"
    if error.code == 422 and immutable(error):
        return f". Kubernetes cannot change this in place: replace the {obj.get('kind')} (`pulumi up --replace URN`)"
    return ""


def immutable(error: ApiError) -> bool:
    """Whether the server refused because a field of an existing object cannot change."""
    words = ("field is immutable", "may not be changed", "updates to", "cannot be changed", "is immutable")
    return error.code == 422 and any(word in error.message for word in words)
