"""The table: every resource type the plugin knows. Any other type is refused by name."""

import importlib
import pkgutil
from dataclasses import replace

from rehearsal.plugins.aws import types
from rehearsal.plugins.aws.row import Row
from rehearsal.plugins.servicer import PluginError


def _service(token: str) -> str:
    return token.partition(":")[2].partition("/")[0]


ROWS: dict[str, Row] = {
    token: replace(row, service=row.service or _service(token))
    for module in pkgutil.iter_modules(types.__path__, f"{types.__name__}.")
    for token, row in importlib.import_module(module.name).ROWS.items()
}


def row(token: str) -> Row:
    """The row of a type; raises PluginError for one that the rehearsal does not play."""
    try:
        return ROWS[token]
    except KeyError:
        service = _service(token)
        raise PluginError(
            "the rehearsal's aws plugin does not know this type. To add it: a row in the ROWS of "
            f"rehearsal/plugins/aws/types/{service}.py (its calls, its id, what a change replaces; the fields are in "
            f"rehearsal/plugins/aws/row.py) and a case in rehearsal/tests/plugins/aws/cases/{service}.py; where moto "
            f"lacks it or is wrong, rehearsal/cloud/{service}.py"
        ) from None
