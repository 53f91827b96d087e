"""The images of a way in: Traefik with its own data plane, and cert-manager's controllers, each the real binary.

Arguments come from the pod as they are. Changed are addresses to listen on, and how the API server is found. Traefik
finds the entry point of a Gateway's listener by its port, so it keeps its ports, on an address of its own.
"""

import re

from rehearsal.images.operators import relocate
from rehearsal.kubelet.process import KUBECONFIG, RealProcess, free_host
from rehearsal.kubelet.program import Launch, Program

_ENTRY = re.compile(r"--entrypoints\.(?P<name>\w+)\.address=:(?P<port>\d+)(?P<protocol>/tcp)?", re.IGNORECASE)
_OWN = {"KUBERNETES_SERVICE_HOST": "", "KUBERNETES_SERVICE_PORT": ""}
"""Without these a client takes its kubeconfig (client-go, rest.InClusterConfig; Traefik, newK8sClient)."""
METRICS = 9402


def traefik(launch: Launch) -> Program:
    """Traefik; what it dials in the cluster goes through the cluster's proxy, which is told addresses by SOCKS5."""
    ports = [int(found["port"]) for word in launch.argv if (found := _ENTRY.fullmatch(word))]
    host = free_host(ports)
    argv = [
        _ENTRY.sub(lambda found: f"--entryPoints.{found['name']}.address={host}:{found['port']}", word)
        for word in launch.argv
    ]
    proxy = launch.world.proxy.socks
    env = {"GOGC": "50", "HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "127.0.0.1", **_OWN}
    return RealProcess(launch, launch.world.tools["traefik"], argv, {port: port for port in ports}, env, host=host)


def cert_manager(launch: Launch) -> Program:
    """One of cert-manager's three programs: the last part of the image's name says which."""
    program = launch.spec["image"].partition(":")[0].rpartition("-")[2]
    if program == "controller":
        argv, ports = relocate(
            launch.argv, {"--metrics-listen-address": METRICS, "--internal-healthz-listen-address": 9403}
        )
    elif program == "webhook":
        argv, ports = relocate(launch.argv, {"--secure-port": 10250, "--healthz-port": 6080}, bare=True)
        argv, metrics = relocate(argv, {"--metrics-listen-address": METRICS})
        ports |= metrics
    else:
        argv, ports = relocate(launch.argv, {"--metrics-listen-address": METRICS})
    argv = [program, *argv, f"--kubeconfig={KUBECONFIG}"]
    return RealProcess(launch, launch.world.tools["cert-manager"], argv, ports, {"GOGC": "50", **_OWN})


def api_check(launch: Launch) -> Program:
    """The Job by which a release waits for cert-manager's webhook (cmd/startupapicheck: `check api --wait=1m -v`)."""
    argv = [word for word in launch.argv if word not in ("check", "api")]
    argv = ["startupapicheck", *argv, f"--kubeconfig={KUBECONFIG}", f"--namespace={launch.namespace}"]
    return RealProcess(launch, launch.world.tools["cert-manager"], argv, {}, _OWN)
