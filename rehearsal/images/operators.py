"""Images that are rehearsed by the real binary: Volcano's three and Kubeflow's training operator.

Arguments come from the pod as they are. Changed is only what cannot be on one loopback: addresses to listen on.
"""

from collections.abc import Mapping, Sequence

from rehearsal import places
from rehearsal.images import admission_secret as secret
from rehearsal.images import words
from rehearsal.kubelet.process import SCRATCH, RealProcess
from rehearsal.kubelet.program import Launch, Program


@words.operator
def volcano_scheduler(launch: Launch) -> Program:
    """Volcano's scheduler with the pod's arguments and scheduler configuration."""
    return _volcano(launch, "vc-scheduler", {"--healthz-address": 11251, "--listen-address": 8080})


@words.operator
def volcano_controllers(launch: Launch) -> Program:
    """Volcano's controllers, which also make the queues `default` and `root`."""
    return _volcano(launch, "vc-controller-manager", {"--healthz-address": 11251, "--listen-address": 8081})


def _volcano(launch: Launch, binary: str, addresses: Mapping[str, int]) -> Program:
    argv, ports = relocate(without_redirection(launch.argv), addresses)
    argv.append("--kubeconfig=kubeconfig")
    if binary == "vc-scheduler":
        argv.append(f"--cache-dump-dir={SCRATCH}")
    return RealProcess(launch, launch.world.tools[binary], argv, ports, {"GOGC": "50"})


@words.operator
def volcano_admission(launch: Launch) -> Program:
    """Volcano's webhooks, which read their certificate once, when they start; or the script that makes it."""
    if launch.argv and launch.argv[0].endswith(secret.SCRIPT):
        return secret.run(launch)
    argv, health = relocate(without_redirection(launch.argv), {"--healthz-address": 11251})
    argv, webhook = relocate(argv, {"--port": 8443}, bare=True)
    argv += [f"--listen-address={places.LOOPBACK}", "--kubeconfig=kubeconfig"]
    tools = launch.world.tools
    return RealProcess(launch, tools["vc-webhook-manager"], argv, {**health, **webhook}, {"GOGC": "50"})


@words.operator
def training_operator(launch: Launch) -> Program:
    """Kubeflow's training operator v1 with its webhook."""
    argv, ports = relocate(
        without_entry(launch.argv, "/manager"),
        {"--metrics-bind-address": 8080, "--health-probe-bind-address": 8081},
    )
    argv, webhook = relocate(argv, {"--webhook-server-port": 9443}, bare=True)
    env = {"MY_POD_NAMESPACE": launch.env.get("MY_POD_NAMESPACE", "kubeflow"), "GOGC": "50"}
    return RealProcess(launch, launch.world.tools["training-operator.v1"], argv, {**ports, **webhook}, env)


def relocate(argv: Sequence[str], addresses: Mapping[str, int], bare: bool = False) -> tuple[list[str], dict[int, int]]:
    """Arguments with each address flag moved to a free loopback port, and container port -> loopback port.

    `addresses` gives each flag's default container port; `bare` flags take a port alone.
    """
    result = list(argv)
    ports: dict[int, int] = {}
    for flag, default in addresses.items():
        given, result = extract(result, flag)
        text = given.rpartition(":")[2] if given else ""
        container, local = int(text) if text.isdigit() else default, places.free_port()
        ports[container] = local
        result.append(f"{flag}={local if bare else f'{places.LOOPBACK}:{local}'}")
    return result, ports


def extract(argv: Sequence[str], flag: str) -> tuple[str | None, list[str]]:
    """The value of a flag (`--flag=value` or `--flag value`) and the arguments without it."""
    value: str | None = None
    rest: list[str] = []
    left = iter(argv)
    for word in left:
        if word == flag:
            value = next(left, None)
        elif word.startswith(flag + "="):
            value = word.partition("=")[2]
        else:
            rest.append(word)
    return value, rest


def without_redirection(argv: Sequence[str]) -> list[str]:
    """Volcano's chart writes `2>&1` as an argument, which the binary takes for a positional one and ignores."""
    return [word for word in argv if word != "2>&1"]


def without_entry(argv: Sequence[str], entry: str) -> list[str]:
    """Arguments without the image's executable, should the pod name it as its command."""
    return list(argv[1:]) if argv and argv[0] == entry else list(argv)
