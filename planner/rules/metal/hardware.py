"""Rows of hardware that the settings name."""

from collections.abc import Iterable, Mapping

from catalogue.echo import echo
from catalogue.site import meant
from planner.draft import MetalDraft, metal_rule
from planner.findings import Observation


@metal_rule("B01", formula="server in the catalogue's servers", source="Definition of the stack file")
def server_unknown(draft: MetalDraft) -> Iterable[Observation]:
    """Every pool's server is a row of the catalogue."""
    for index, pool in enumerate(draft.settings.pools):
        yield from _unknown(f"pools[{index}].server", "servers", pool.server, draft.catalogue.servers)


@metal_rule("B01", formula="switch in the catalogue's switches", source="Definition of the stack file")
def switch_unknown(draft: MetalDraft) -> Iterable[Observation]:
    """The fabric's switch is a row of the catalogue."""
    yield from _unknown("fabric.switch", "switches", draft.settings.fabric.switch, draft.catalogue.switches)


@metal_rule(
    "B01", formula="server and mdsServer in the catalogue's storage servers", source="Definition of the stack file"
)
def storage_server_unknown(draft: MetalDraft) -> Iterable[Observation]:
    """Storage servers are rows of the catalogue."""
    for each in draft.settings.storage.servers:
        yield from _unknown(f"storage.{each.key}", "storageServers", each.row, draft.catalogue.storage_servers)


def _unknown(path: str, table: str, name: str, known: Mapping[str, object]) -> Iterable[Observation]:
    if name not in known:
        yield Observation(
            path=path,
            sentence=f"the catalogue has no {echo(name)} among its {table}",
            remedy=f"{meant(name, known)} (gpucluster:catalogue.{table} adds rows)",
            subject=name,
        )
