"""Kyverno's admission controller: the real binary, which asks registries on this machine.

Arguments come from the pod as they are. Changed are the addresses that it listens on and how the API server is found.
Registries elsewhere are out of a rehearsal's reach, and nobody here has the private half of a stack's key: pods whose
images all come from there are let through by an exception of Kyverno's own kind, by digest only. Exceptions are enabled
for that, in the pod's namespace (flags of cmd/internal/flag.go, v1.19.1).
"""

from collections.abc import Callable, Sequence
from typing import Any

from rehearsal import places
from rehearsal.images import words
from rehearsal.images.operators import relocate
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kubelet.process import KUBECONFIG, RealProcess
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

API, KIND = "policies.kyverno.io/v1", "ImageValidatingPolicy"
EXCEPTION = "out-of-reach"
LOOK_SECONDS, INIT_SECONDS = 0.5, 2.0
_OWN = {"KUBERNETES_SERVICE_HOST": "", "KUBERNETES_SERVICE_PORT": "", "GOGC": "50"}
_ELSEWHERE = 'each.image.matches("@sha256:[0-9a-f]{64}$") && !each.image.matches("^(127[.]0[.]0[.]1|localhost)[:/]")'


def excepting(*policies: str) -> Callable[[Launch], Program]:
    """The controller with the chart's flags. The exception is of these policies before they are there, and of others a
    moment after."""
    return words.operator(lambda launch: Controller(launch, policies))


def prepares(launch: Launch) -> Program:
    """What runs before it removes leftovers of older versions (cmd/kyverno-init); there are none."""
    return Ends(launch.now + INIT_SECONDS / TIME_SCALE, Exit(0))


class Controller(RealProcess):
    """The process, and beside it the exception that names `policies` and whatever others there are."""

    def __init__(self, launch: Launch, policies: Sequence[str]) -> None:
        argv, ports = flags(launch.argv, launch.namespace)
        # What is not on this machine is asked for in the cluster, where no registry is.
        env = {"HTTPS_PROXY": launch.world.proxy.url, **_OWN}
        super().__init__(launch, launch.world.tools["kyverno"], argv, ports, env)
        self._policies, self._told = frozenset(policies), frozenset[str]()
        self._task = f"kyverno {launch.namespace} {launch.pod_name}"
        launch.world.tasks.run(self._task, self._except)

    def _except(self) -> float:
        kube, namespace = self._launch.world.kube, self._launch.namespace
        try:
            policies = self._policies | {each["metadata"]["name"] for each in kube.list(API, KIND)}
            if policies != self._told:
                kube.apply(exception(namespace, sorted(policies)), "rehearsal", force=True)
                self._told = policies
        except (ApiError, Unreachable):
            # Kyverno itself is asked whether an exception is one, and may not answer yet.
            pass
        return LOOK_SECONDS

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)
        super().stop()


def flags(argv: Sequence[str], namespace: str) -> tuple[list[str], dict[int, int]]:
    """The process's arguments, and container port -> port on loopback."""
    moved, ports = relocate(argv, {"--webhookServerPort": 9443, "--metricsPort": 8000}, bare=True)
    moved, more = relocate(moved, {"--controllerRuntimeMetricsAddress": 8080})
    own = [
        f"--webhookServerHost={places.LOOPBACK}",
        f"--metricsHost={places.LOOPBACK}",
        f"--kubeconfig={KUBECONFIG}",
        "--enablePolicyException=true",
        f"--exceptionNamespace={namespace}",
    ]
    return [*moved, *own], {**ports, **more}


def exception(namespace: str, policies: Sequence[str]) -> dict[str, Any]:
    """Excepts pods and their makers from these policies, if every image has a digest and none is on this machine."""
    pods = "object.spec", "object.spec.template.spec", "object.spec.jobTemplate.spec.template.spec"
    plain, template, scheduled = map(_elsewhere, pods)
    expression = f"has({pods[0]}.containers) ? {plain} : has({pods[0]}.template) ? {template} : {scheduled}"
    return {
        "apiVersion": API,
        "kind": "PolicyException",
        "metadata": {"name": EXCEPTION, "namespace": namespace},
        "spec": {
            "policyRefs": [{"name": each, "kind": KIND} for each in policies],
            "matchConditions": [{"name": EXCEPTION, "expression": expression}],
        },
    }


def _elsewhere(spec: str) -> str:
    """CEL: whether all images of a pod's spec are out of reach."""
    lists = (f"{spec}.{each}" for each in ("initContainers", "ephemeralContainers"))
    others = (f"(!has({each}) || {each}.all(each, {_ELSEWHERE}))" for each in lists)
    return f"({' && '.join([f'{spec}.containers.all(each, {_ELSEWHERE})', *others])})"
