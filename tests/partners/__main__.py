"""`python -m tests.partners`: make what the slow tests need, before they wait for it."""

from rehearsal.toolchain.pythons import MLFLOW
from tests.partners import KFP

KFP.python()
MLFLOW.python()
