"""The table: every resource type the plugin knows. Any other type is refused by name."""

from __future__ import annotations

from ..servicer import PluginError
from . import eks, fsx, iam, kms, logs, network, routes, rules, s3, template
from .row import Row

ROWS: dict[str, Row] = {
    **network.ROWS,
    **routes.ROWS,
    **rules.ROWS,
    **template.ROWS,
    **iam.ROWS,
    **kms.ROWS,
    **logs.ROWS,
    **eks.ROWS,
    **fsx.ROWS,
    **s3.ROWS,
}


def row(token: str) -> Row:
    """The row of a type; raises PluginError for one that the rehearsal does not play."""
    try:
        return ROWS[token]
    except KeyError:
        raise PluginError(
            "the rehearsal's aws plugin does not know this type; its table is rehearsal/plugins/aws"
        ) from None
