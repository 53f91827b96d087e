"""One case per type of the table, in a module per service; a further module here is run by being here."""

import importlib
import pkgutil

from rehearsal.tests.plugins.aws.case import Case

CASES: tuple[Case, ...] = tuple(
    case
    for module in pkgutil.iter_modules(__path__, f"{__name__}.")
    for case in importlib.import_module(module.name).CASES
)
