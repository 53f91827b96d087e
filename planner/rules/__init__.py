"""The rules by subject, without those about racks. Importing this package registers them in the draft's registry."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
