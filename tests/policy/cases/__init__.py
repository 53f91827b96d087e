"""What rules find and what they let pass, by subject: changes of recorded stacks."""

from importlib import import_module
from pkgutil import iter_modules

from tests.policy.cases.case import Case

SUBJECTS = [import_module(f"{__name__}.{name}") for _, name, _ in iter_modules(__path__) if name != "case"]
CASES: list[Case] = [case for subject in SUBJECTS for case in subject.CASES]
