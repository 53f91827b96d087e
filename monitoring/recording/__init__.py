"""The program's own names for exporters' metrics: a renamed metric is fixed here, and alerts and panels stay as
they are (X13, X14). Names are gpucluster:<subject>:<what>, units SI, ratios 0 to 1.
"""

from monitoring.limits import Limits
from monitoring.recording.fabric import FABRIC
from monitoring.recording.gpu import GPU, TRENDS
from monitoring.recording.machine import MACHINE
from monitoring.recording.node import NODE
from monitoring.recording.platform import PLATFORM
from monitoring.recording.run import RUN, expected
from monitoring.recording.serving import SERVING
from monitoring.recording.storage import STORAGE
from monitoring.rule import Group


def recorded(limits: Limits) -> tuple[Group, ...]:
    """The groups of recording rules; the first says what the plan expects."""
    plan = tuple(expected(limits))
    stated = (Group(name="plan", rules=plan),) if plan else ()
    return (*stated, NODE, MACHINE, RUN, GPU, FABRIC, STORAGE, SERVING, PLATFORM, TRENDS)
