"""One small instance of every component, by area, and a way to look at what it registers."""

from collections.abc import Mapping
from functools import partial

from components import layers
from tests.components.samples import (
    aws,
    aws_nodes,
    gateway,
    kubeflow,
    metal,
    monitoring,
    platform,
    serving,
    storage,
    tracking,
    training,
)
from tests.components.samples.common import CLI, Make, Options, built, done

__all__ = ["CLI", "SAMPLES", "Make", "Options", "built", "done"]

SAMPLES: Mapping[str, Make] = {
    **aws.SAMPLES,
    **aws_nodes.SAMPLES,
    **gateway.SAMPLES,
    **kubeflow.SAMPLES,
    **metal.SAMPLES,
    **monitoring.SAMPLES,
    **platform.SAMPLES,
    **serving.SAMPLES,
    **storage.SAMPLES,
    **tracking.SAMPLES,
    **training.SAMPLES,
    **{
        layer.__name__: partial(layer, "sample")
        for layer in (
            layers.Fabric,
            layers.KubePlatform,
            layers.HardwarePool,
            layers.Storage,
            layers.Scheduling,
            layers.Monitoring,
            layers.Workloads,
        )
    },
}
