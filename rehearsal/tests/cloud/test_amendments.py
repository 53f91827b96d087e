"""Whether everything that is changed about moto is put in place."""

import pkgutil
from importlib import import_module

import rehearsal.cloud
import rehearsal.eks
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.amendments import MODULES


def test_every_module_with_amendments_is_named() -> None:
    found = {
        each.name
        for package in (rehearsal.cloud, rehearsal.eks)
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not each.name.endswith("__main__")
        and isinstance(getattr(import_module(each.name), "AMENDMENTS", None), Amendments)
    }
    assert found == {module.__name__ for module in MODULES}
    assert len(found) == len(MODULES)
