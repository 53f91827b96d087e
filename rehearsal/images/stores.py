"""Stores that speak S3 and are not AWS': a site's own, and Ceph's, which Rook brought. Both answer as Ceph's gateway.

The site's own is there before the stack, with its buckets, and lets in whoever has the one key of it (`Keys.store`).
Rook's has the users that CephObjectStoreUsers declare with their keys, and the buckets of claims that are bound.

Sources: ceph, src/rgw/rgw_common.cc (`rgw_http_s3_errors`: codes; `dump`: its errors come with an empty message) and
src/rgw/rgw_auth.cc (the key is looked up before the signature is compared); botocore, parsers.py (an empty element is
None) and exceptions.py (`EndpointConnectionError`). Not played: what a store lets one of its users do, and what not.
"""

import base64
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rehearsal.images.awscli import CommandError
from rehearsal.images.identity import Key
from rehearsal.kubelet.contents import BUCKETS
from rehearsal.kubelet.program import Launch
from rehearsal.kubelet.world import World

CEPH, CLAIMS = "ceph.rook.io/v1", "objectbucket.io/v1alpha1"
_GATEWAY = "rook-ceph-rgw-"


def volume(endpoint: str, bucket: str) -> str:
    """What a bucket of a store is among volumes' contents."""
    return f"{BUCKETS}{endpoint}/{bucket}"


@dataclass(frozen=True)
class OfSite:
    """The store at an endpoint, for a process with such a key; None: with one of AWS', which no other store knows."""

    launch: Launch
    endpoint: str
    key: Key | None

    def listed(self, bucket: str, prefix: str) -> list[str]:
        return list(self._asked("fatal error:", "ListObjectsV2", bucket, prefix))

    def read(self, bucket: str, names: Sequence[str], target: str) -> Mapping[str, int]:
        found = self._asked(f"download failed: s3://{bucket} to {target}", "GetObject", bucket, "")
        return {name: found[name] for name in names}

    def put(self, bucket: str, names: Mapping[str, str], body: bytes = b"") -> None:
        for name, file in names.items():
            self._asked(f"upload failed: {file} to s3://{bucket}/{name}", "PutObject", bucket, name)
            self.launch.world.contents.add(volume(self.endpoint, bucket), {name: len(body)})

    def _asked(self, failed: str, operation: str, bucket: str, prefix: str) -> dict[str, int]:
        """What lies there in a bucket below a prefix, if the store is there and lets one in."""
        store, world = _store(self.launch.world, self.endpoint), self.launch.world
        if store is None:
            raise CommandError(f'{failed} Could not connect to the endpoint URL: "{self.endpoint}/{bucket}"')
        code = self._refused(store.keys)
        if code is None and bucket not in store.buckets:
            code = "NoSuchBucket"
        if code is not None:
            raise CommandError(f"{failed} An error occurred ({code}) when calling the {operation} operation: None")
        return world.contents.under(volume(self.endpoint, bucket), prefix)

    def _refused(self, keys: Mapping[str, str]) -> str | None:
        known = keys.get(self.key.id) if self.key else None
        if known is None or self.key is None:
            return "InvalidAccessKeyId"
        return None if hmac.compare_digest(known.encode(), self.key.secret.encode()) else "SignatureDoesNotMatch"


@dataclass(frozen=True)
class Store:
    """One that answers: secrets of keys by their ids, and names of buckets."""

    keys: Mapping[str, str]
    buckets: frozenset[str]


def _store(world: World, endpoint: str) -> Store | None:
    """The one at an endpoint; None if none answers there."""
    start = volume(endpoint, "")
    held = frozenset(each.removeprefix(start) for each in world.contents.volumes(start))
    service, _, rest = (urlsplit(endpoint).hostname or "").partition(".")
    if not service.startswith(_GATEWAY):
        key_id, secret = world.store_key
        return Store({key_id: secret}, held) if held else None
    name, namespace = service.removeprefix(_GATEWAY), rest.partition(".")[0]
    made = world.kube.get(CEPH, "CephObjectStore", name, namespace) or {}
    if (made.get("status") or {}).get("phase") != "Ready":
        return None
    return Store(dict(_users(world, name, namespace)), held | frozenset(_claimed(world, name)))


def _users(world: World, store: str, namespace: str) -> Iterator[tuple[str, str]]:
    """Keys of the users of a store: Rook documentation, "CephObjectStoreUser CRD", `keys`."""
    for user in world.kube.list(CEPH, "CephObjectStoreUser", namespace=namespace):
        if user["spec"].get("store") == store:
            for each in user["spec"].get("keys") or ():
                yield _told(world, each["accessKeyRef"], namespace), _told(world, each["secretKeyRef"], namespace)


def _told(world: World, reference: Mapping[str, Any], namespace: str) -> str:
    data = (world.find("secrets", reference["name"], namespace) or {}).get("data") or {}
    return base64.b64decode(data.get(reference["key"]) or "").decode()


def _claimed(world: World, store: str) -> Iterator[str]:
    """Buckets of claims that are bound: Rook documentation, "Object Bucket Claim"."""
    for claim in world.kube.list(CLAIMS, "ObjectBucketClaim"):
        kind = world.kube.get("storage.k8s.io/v1", "StorageClass", claim["spec"].get("storageClassName") or "") or {}
        bound = (claim.get("status") or {}).get("phase") == "Bound"
        if bound and (kind.get("parameters") or {}).get("objectStoreName") == store:
            yield str(claim["spec"].get("bucketName") or claim["metadata"]["name"])
