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
from tests.components.samples.aws import (
    KEY_ARN,
    flow_logs_args,
    home_args,
    keeper_args,
    lustre_args,
    network_args,
    rates_args,
    registry_args,
)
from tests.components.samples.aws_nodes import DEPLOYER, ENA, cluster_args, pool_args
from tests.components.samples.common import CLI, Make, Options, built, done
from tests.components.samples.gateway import page_args, sign_in_args
from tests.components.samples.kubeflow import experiment_args, pipelines_store
from tests.components.samples.metal import HOST_KEY, LOGIN, host_args, machines_args
from tests.components.samples.monitoring import BOARD, monitoring_args
from tests.components.samples.platform import FILE, external_secret_args
from tests.components.samples.serving import SCALING, engine, hub_args, service_args, smoke_args, triton_args
from tests.components.samples.storage import claims_args, weights_args
from tests.components.samples.tracking import mlflow_args
from tests.components.samples.training import SHAPE, backup_args, follow_up_args, gate_args, job_args

__all__ = [
    "BOARD",
    "CLI",
    "DEPLOYER",
    "ENA",
    "FILE",
    "HOST_KEY",
    "KEY_ARN",
    "LOGIN",
    "SAMPLES",
    "SCALING",
    "SHAPE",
    "Make",
    "Options",
    "backup_args",
    "built",
    "claims_args",
    "cluster_args",
    "done",
    "engine",
    "experiment_args",
    "external_secret_args",
    "flow_logs_args",
    "follow_up_args",
    "gate_args",
    "home_args",
    "host_args",
    "hub_args",
    "job_args",
    "keeper_args",
    "lustre_args",
    "machines_args",
    "mlflow_args",
    "monitoring_args",
    "network_args",
    "page_args",
    "pipelines_store",
    "pool_args",
    "rates_args",
    "registry_args",
    "service_args",
    "sign_in_args",
    "smoke_args",
    "triton_args",
    "weights_args",
]

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
