"""The images of a monitoring stack, each rehearsed by the real binary: Prometheus, Alertmanager, what feeds them.

Arguments and files come from the pod as they are. Changed is what cannot be on one machine: addresses to listen on,
identities, paths (`scraping.py`). All that a process dials in the cluster goes through the cluster's proxy; nothing
outside it can be reached.
"""

import gzip
import posixpath
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from rehearsal import places
from rehearsal.images import scraping
from rehearsal.images.operators import extract, relocate, without_entry
from rehearsal.kubelet.process import CURRENT, FILES, KUBECONFIG, SCRATCH, Convert, RealProcess
from rehearsal.kubelet.program import TIME_SCALE, Launch, LaunchError, Program

GOSSIP = 9094
# Source: prometheus-operator, cmd/prometheus-config-reloader/main.go, defaultWatchInterval.
LOOK_SECONDS = 180.0
_READ = "config.file", "web.config.file"


def operator(launch: Launch) -> Program:
    """The prometheus-operator. It knows the flags of its own version: a newer one ends it, in its own words."""
    argv, ports = relocate(without_entry(launch.argv, "/bin/operator"), {"--web.listen-address": 8080})
    return _run(launch, "prometheus-operator", argv, ports)


def server(launch: Launch) -> Program:
    """Prometheus, with the configuration that the reloader beside it writes. Without web pages: only its API."""
    argv, ports = relocate(without_entry(launch.argv, "/bin/prometheus"), {"--web.listen-address": 9090})
    return _run(launch, "prometheus", argv, ports, _own(launch, scraping.prometheus))


def alertmanager(launch: Launch) -> Program:
    """Alertmanager. Peers gossip on loopback: each joins those that are there already, later ones join it."""
    argv, ports = relocate(without_entry(launch.argv, "/bin/alertmanager"), {"--web.listen-address": 9093})
    convert = _own(launch, scraping.alertmanager)
    listen, argv = extract(argv, "--cluster.listen-address")
    if listen == "":
        return _run(launch, "alertmanager", [*argv, "--cluster.listen-address="], ports, convert)
    known = [launch.world.backends.find(launch.namespace, name, GOSSIP) for name in _peers(argv)]
    local = places.free_port()
    argv = [word for word in argv if not word.startswith("--cluster.peer=")]
    own = f"{places.LOOPBACK}:{local}"
    argv += [f"--cluster.listen-address={own}", f"--cluster.advertise-address={own}"]
    argv += [f"--cluster.peer={peer[0]}:{peer[1]}" for peer in known if peer]
    return _run(launch, "alertmanager", argv, {**ports, GOSSIP: local}, convert)


def _peers(argv: Sequence[str]) -> list[str]:
    """The pods that `--cluster.peer=POD.SERVICE[...]:PORT` names."""
    named = (word.partition("=")[2] for word in argv if word.startswith("--cluster.peer="))
    return [each.partition(".")[0] for each in named]


def config_reloader(launch: Launch) -> Program:
    """The reloader: unpacks the configuration, replaces variables, tells its neighbour.

    It dials that by the pod's IP, because no proxy is asked for an address on loopback. What changes again it then
    finds by looking, every three minutes of life: the first change ends its watch (thanos, pkg/reloader).
    """
    argv, ports = relocate(without_entry(launch.argv, "/bin/prometheus-config-reloader"), {"--listen-address": 8080})
    interval, argv = extract(argv, "--watch-interval")
    argv.append(f"--watch-interval={interval or f'{LOOK_SECONDS / TIME_SCALE:.0f}s'}")
    url, argv = extract(argv, "--reload-url")
    if url:
        there = urlsplit(url)
        argv.append(f"--reload-url={there._replace(netloc=f'{launch.ip}:{there.port or 80}').geturl()}")
    return _run(launch, "prometheus-config-reloader", argv, ports, _converted(launch))


def kube_state_metrics(launch: Launch) -> Program:
    """kube-state-metrics, reading the cluster with the rights of its service account."""
    argv = list(launch.argv)
    for flag in ("--host", "--telemetry-host"):
        _, argv = extract(argv, flag)
        argv.append(f"{flag}={places.LOOPBACK}")
    argv, ports = relocate(
        without_entry(argv, "/kube-state-metrics"), {"--port": 8080, "--telemetry-port": 8081}, bare=True
    )
    return _run(launch, "kube-state-metrics", [*argv, f"--kubeconfig={KUBECONFIG}"], ports)


def adapter(launch: Launch) -> Program:
    """prometheus-adapter, which the API server's aggregation layer reaches; it asks Prometheus through the proxy."""
    argv, ports = relocate(without_entry(launch.argv, "/adapter"), {"--secure-port": 6443}, bare=True)
    argv += [f"--{kind}-kubeconfig={KUBECONFIG}" for kind in ("lister", "authentication", "authorization")]
    directory, argv = extract(argv, "--cert-dir")
    argv.append(f"--cert-dir={directory or SCRATCH}")
    return _run(launch, "prometheus-adapter", [*argv, f"--bind-address={places.LOOPBACK}"], ports)


def _run(
    launch: Launch,
    binary: str,
    argv: Sequence[str],
    ports: Mapping[int, int],
    convert: Convert = lambda _, held: held,
) -> Program:
    proxy = launch.world.proxy.url
    env = {"GOGC": "50", "HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": ""}
    return RealProcess(launch, launch.world.tools[binary], argv, ports, env, convert)


def _own(launch: Launch, change: Callable[[bytes, scraping.Machine], bytes]) -> Convert:
    """What a server reads that mounts its configuration without a reloader, and that of its own pages."""
    config, web = (posixpath.normpath(extract(launch.argv, f"--{flag}")[0] or "") for flag in _READ)
    there = _machine(launch, launch.directory)

    def convert(path: str, content: bytes) -> bytes:
        if path == config:
            return change(content, there)
        return scraping.moved(content, there) if path == web else content

    return convert


def _machine(launch: Launch, run: Path) -> scraping.Machine:
    return scraping.Machine(
        root=str(run / FILES), kubeconfig=str(run / KUBECONFIG), proxy=launch.world.proxy.url, env=launch.env
    )


def _converted(launch: Launch) -> Convert:
    """What the reloader reads, made fit for the container that reads what it writes. Raises LaunchError without one."""
    config, written = (extract(launch.argv, flag)[0] for flag in ("--config-file", "--config-envsubst-file"))
    output = launch.mount_of(written) if written else None
    if config is None or output is None:
        return lambda _, held: held
    readers = [
        each
        for each in launch.pod["spec"]["containers"]
        if each["name"] != launch.spec["name"] and output.name in [mount["name"] for mount in each["volumeMounts"]]
        if "config-reloader" not in each["name"]
    ]
    if not readers:
        raise LaunchError(f"no container of the pod mounts {output.name}, where the configuration is written to")
    reader = readers[0]
    run = launch.directory.parents[1] / reader["name"] / CURRENT
    there = _machine(launch, run)
    change = scraping.alertmanager if reader["name"] == "alertmanager" else scraping.prometheus

    def convert(path: str, content: bytes) -> bytes:
        if path != posixpath.normpath(config):
            return content
        packed = config.endswith(".gz")
        text = change(gzip.decompress(content) if packed else content, there)
        return gzip.compress(text, mtime=0) if packed else text

    return convert
