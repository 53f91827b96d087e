"""Programs of a few objects, right and wrong, by the subject of the rule that tells them apart."""

from importlib import import_module
from pkgutil import iter_modules

from tests.policy.programs.form import Program

SUBJECTS = [import_module(f"{__name__}.{name}") for _, name, _ in iter_modules(__path__) if name != "form"]
PROGRAMS: list[Program] = [program for subject in SUBJECTS for program in subject.PROGRAMS]
