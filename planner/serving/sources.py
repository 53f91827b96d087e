"""Where a model comes from: an object store, a hub at one commit, or a claim that holds it already."""

from dataclasses import dataclass

_HUB, _CLAIM = "hf://", "pvc://"


@dataclass(frozen=True, kw_only=True)
class HubSource:
    """A model of huggingface.co (ORGANISATION/MODEL) as one commit has it."""

    repository: str
    revision: str


@dataclass(frozen=True, kw_only=True)
class ClaimSource:
    """A directory of a claim that is there already, in the namespace of the service."""

    claim: str
    path: str


@dataclass(frozen=True, kw_only=True)
class ObjectSource:
    """What lies below an address SCHEME://BUCKET/PREFIX of the platform's object store."""

    uri: str


Source = HubSource | ClaimSource | ObjectSource


def source_of(address: str) -> Source:
    """What an address of the plan names: `hf://MODEL@COMMIT`, `pvc://CLAIM/DIRECTORY`, or an object store's own."""
    if address.startswith(_HUB):
        repository, _, revision = address.removeprefix(_HUB).partition("@")
        return HubSource(repository=repository, revision=revision)
    if address.startswith(_CLAIM):
        claim, _, path = address.removeprefix(_CLAIM).partition("/")
        return ClaimSource(claim=claim, path=path)
    return ObjectSource(uri=address)
