"""External Secrets' controller: the real binary, which asks the account of the rehearsal as its pod's role.

Built is 0.20.4, the last release that is one Go module: those after it are made of modules that name each other by
folders (`replace` in go.mod), which no module proxy serves. Arguments are what the chart renders. Changed are addresses
to listen on, how the API server is found, and where AWS answers (pkg/provider/aws, */resolver.go). The webhook, and
what makes that one's certificate, do nothing here.
"""

from rehearsal.images import words
from rehearsal.images.lending import Lending
from rehearsal.images.operators import relocate
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Launch, LaunchError, Program

_OWN = {"KUBERNETES_SERVICE_HOST": "", "KUBERNETES_SERVICE_PORT": "", "GOGC": "50"}


@words.operator
def run(launch: Launch) -> Program:
    """The controller beside what lends it credentials; another word than a flag starts what is not looked at."""
    if launch.argv and not launch.argv[0].startswith("-"):
        return Program()
    lending = Lending(launch)
    try:
        return _Controller(launch, lending)
    except LaunchError:
        lending.close()
        raise


class _Controller(RealProcess):
    def __init__(self, launch: Launch, lending: Lending) -> None:
        self._lending = lending
        argv, ports = relocate(launch.argv, {"--metrics-addr": 8080, "--live-addr": 8082})
        aws = launch.world.aws
        env = {
            **lending.variables,
            "AWS_REGION": aws.region,
            "AWS_SECRETSMANAGER_ENDPOINT": aws.url,
            "AWS_STS_ENDPOINT": aws.url,
            **_OWN,
        }
        super().__init__(launch, launch.world.tools["external-secrets"], argv, ports, env)

    def stop(self) -> None:
        super().stop()
        self._lending.close()
