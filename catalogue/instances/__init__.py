"""EC2 instance types: the GPU families g4dn to p6e, m7i for the system pool, and types that are known to be neither.

A module of this package that has `ROWS` is a family. Sizes, cards and EFA limits as DescribeInstanceTypes publishes
them (a test compares with another copy of that data).
"""

from importlib import import_module
from pkgutil import iter_modules

from catalogue.types import Instance


def _rows() -> list[Instance]:
    """The rows of every module beside this one."""
    modules = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    return [row for module in modules for row in getattr(module, "ROWS", ())]


INSTANCES = {row.type: row for row in _rows()}
