"""A small client of the Kubernetes API over plain dicts: thread-safe, one connection pool, no generated models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote

from rehearsal.kube import kubeconfig
from rehearsal.kube.discovery import Discovery, served
from rehearsal.kube.errors import ApiError, CredentialsFailed, Unreachable
from rehearsal.kube.transport import Object, Transport

__all__ = ["ApiError", "CredentialsFailed", "Kube", "Unreachable"]

PAGE = 500
APPLY = "application/apply-patch+yaml"
Objects = list[Object]


class Kube(Transport):
    """Talks to one API server as one user. Objects are plain dicts as the API gives them."""

    def __init__(self, access: kubeconfig.Access) -> None:
        super().__init__(access)
        self.namespace = access.namespace
        self._discovery = Discovery()

    @classmethod
    def from_kubeconfig(cls, text_or_path: str, context: str | None = None) -> Kube:
        """From a kubeconfig's text or path. Raises ValueError if it is not usable; does not connect."""
        return cls(kubeconfig.load(text_or_path, context))

    # -- kinds

    def capabilities(self) -> tuple[str, frozenset[str]]:
        """The server's version ("1.36.3"), and the group versions and kinds that it serves now."""
        return str(self.call("GET", "/version")["gitVersion"]).removeprefix("v"), served(self.call)

    def namespaced(self, api_version: str, kind: str) -> bool:
        """Whether objects of the kind live in namespaces. Raises ApiError NoMatch if the kind is not served."""
        return self._discovery.find(self.call, api_version, kind).namespaced

    def path(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """The URL path of an object (with `name`) or of a collection (without; no `namespace` = everywhere).

        Raises ApiError with reason NoMatch if the server serves no such kind.
        """
        found = self._discovery.find(self.call, api_version, kind)
        parts = ["apis" if "/" in api_version else "api", api_version]
        where = namespace or (self.namespace if name else None)
        if found.namespaced and where:
            parts += ["namespaces", quote(where, safe="")]
        parts += [found.plural, *([quote(name, safe="")] if name else []), *([subresource] if subresource else [])]
        return "/" + "/".join(parts)

    def _path_of(self, obj: Mapping[str, Any]) -> str:
        meta = obj["metadata"]
        return self.path(obj["apiVersion"], obj["kind"], meta.get("namespace"), meta["name"])

    # -- objects

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """The object, or None if there is none (a kind that is not served raises NoMatch)."""
        path = self.path(api_version, kind, namespace, name)
        try:
            return self.call("GET", path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Objects:
        """All objects of the kind, in one namespace or in all; items carry their apiVersion and kind."""
        items, _ = self.list_at(api_version, kind, namespace, label_selector, field_selector)
        return items

    def list_at(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> tuple[Objects, str]:
        """What `list` returns, with the resource version to start a watch from."""
        path = self.path(api_version, kind, namespace)
        items: Objects = []
        token: str | None = None
        while True:
            query: dict[str, Any] = {
                "labelSelector": label_selector,
                "fieldSelector": field_selector,
                "continue": token,
            }
            page = self.call("GET", path, limit=PAGE, **query)
            items += [{"apiVersion": api_version, "kind": kind, **item} for item in page.get("items") or []]
            token = page["metadata"].get("continue")
            if not token:
                return items, str(page["metadata"]["resourceVersion"])

    def create(self, obj: Mapping[str, Any], manager: str | None = None, dry_run: bool = False) -> Object:
        """Creates the object (strict fields). Raises ApiError AlreadyExists rather than touch another's object."""
        path = self.path(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace") or self.namespace)
        return self.call(
            "POST",
            path,
            obj,
            fieldManager=manager,
            fieldValidation="Strict",
            dryRun="All" if dry_run else None,
        )

    def apply(self, obj: Mapping[str, Any], manager: str, force: bool = False, dry_run: bool = False) -> Object:
        """Server-side apply as `manager`, with unknown fields refused. Raises ApiError Conflict unless `force`."""
        return self.call(
            "PATCH",
            self._path_of(obj),
            obj,
            APPLY,
            fieldManager=manager,
            fieldValidation="Strict",
            force=True if force else None,
            dryRun="All" if dry_run else None,
        )

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None,
        patch: object,
        subresource: str | None = None,
        content_type: str = "application/merge-patch+json",
    ) -> Object:
        """Patches the object or one of its subresources (`status`, `scale`, ...)."""
        return self.call("PATCH", self.path(api_version, kind, namespace, name, subresource), patch, content_type)

    def delete(
        self,
        obj_or_ref: Mapping[str, Any],
        propagation: Literal["Background", "Foreground", "Orphan"] = "Background",
        uid: str | None = None,
    ) -> None:
        """Asks for deletion and returns; an object that is gone already is fine. With `uid` only that very object."""
        options: Object = {"propagationPolicy": propagation, "preconditions": {"uid": uid} if uid else None}
        try:
            self.call("DELETE", self._path_of(obj_or_ref), options)
        except ApiError as error:
            if error.code != 404:
                raise

    def watch(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        resource_version: str | None = None,
        timeout_seconds: int = 300,
        label_selector: str | None = None,
    ) -> Iterator[tuple[str, Object]]:
        """Events (`ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`; object) until `timeout_seconds` are over.

        Start from `list_at`'s resource version; without one the present objects come first as ADDED. A BOOKMARK
        carries only `metadata.resourceVersion`. Raises ApiError (410 Expired: list again), Unreachable.
        """
        query = {
            "watch": True,
            "allowWatchBookmarks": True,
            "resourceVersion": resource_version,
            "timeoutSeconds": timeout_seconds,
            "labelSelector": label_selector,
        }
        path = self.path(api_version, kind, namespace)
        for event in self.stream(path, timeout_seconds + 15.0, query):
            if event["type"] == "ERROR":
                raise ApiError.from_status(int(event["object"].get("code") or 500), event["object"])
            yield event["type"], event["object"]
