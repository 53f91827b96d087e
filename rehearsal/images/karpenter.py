"""Karpenter's controller: the real binary, which asks the account of the rehearsal.

Its settings come from the pod's environment as the chart writes it. Changed are the addresses that it listens on, how
it finds the API server, and where AWS answers. What the policy of its role allows is not looked at, since it signs with
the account's own keys; only that its pod has a role of its own is.
"""

from rehearsal import places
from rehearsal.images import identity, words
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Launch, LaunchError, Program

METRICS, HEALTH = "METRICS_PORT", "HEALTH_PROBE_PORT"
_OWN = {"KUBERNETES_SERVICE_HOST": "", "KUBERNETES_SERVICE_PORT": "", "GOGC": "50"}


@words.operator
def controller(launch: Launch) -> Program:
    """The controller with the chart's settings."""
    try:
        identity.of(launch)
    except identity.CredentialsError as error:
        raise LaunchError(str(error)) from None
    moved = {name: places.free_port() for name in (METRICS, HEALTH)}
    ports = {int(launch.env[name]): moved[name] for name in moved if launch.env.get(name, "").isdigit()}
    aws = launch.world.aws
    env = {
        **aws.variables,
        "AWS_REGION": aws.region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "SYSTEM_NAMESPACE": launch.namespace,
        # Outside of a pod's own file system it does not know its namespace.
        "LEADER_ELECTION_NAMESPACE": launch.namespace,
        **{name: str(port) for name, port in moved.items()},
        **_OWN,
    }
    return RealProcess(launch, launch.world.tools["karpenter"], list(launch.argv), ports, env)
