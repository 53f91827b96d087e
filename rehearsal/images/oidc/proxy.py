"""oauth2-proxy's image: the real binary, whose issuer is a stand-in.

Arguments come from the pod as they are. Changed is the address to listen on, and how the issuer is found: pods of one
issuer share a stand-in, which knows the client by the pod's own secret, and one person for each group that is let in,
called `of-GROUP`, beside a `stranger`.
"""

import re
import threading
from collections.abc import Sequence

from rehearsal.images.oidc.issuer import Issuer, Person
from rehearsal.images.oidc.listening import Listening
from rehearsal.images.operators import relocate
from rehearsal.kubelet import volumes
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Launch, LaunchError, Program

STRANGER = "stranger"
_LISTENING: dict[tuple[str, str], tuple[Listening, set[str]]] = {}
_LOCK = threading.Lock()


def run(launch: Launch) -> Program:
    """The program, beside its issuer."""
    listening = joined(launch)
    try:
        return OauthProxy(launch, listening)
    except LaunchError:
        left(launch)
        raise


class OauthProxy(RealProcess):
    """It reaches its issuer by a proxy that leads nowhere else, and trusts the certificate that the stand-in has."""

    def __init__(self, launch: Launch, listening: Listening) -> None:
        self._whose = launch
        argv, ports = relocate(launch.argv, {"--http-address": 4180})
        env = {"GOGC": "50", "HTTPS_PROXY": listening.proxy, "SSL_CERT_FILE": str(listening.ca)}
        super().__init__(launch, launch.world.tools["oauth2-proxy"], argv, ports, env)

    def stop(self) -> None:
        super().stop()
        left(self._whose)


def joined(launch: Launch) -> Listening:
    """The stand-in of the pod's issuer, which is there as long as pods of it run. Raises LaunchError."""
    url, client = _value(launch.argv, "--oidc-issuer-url"), _value(launch.argv, "--client-id")
    secret, key = _secret(launch), (str(launch.world.directory), url)
    with _LOCK:
        found = _LISTENING.get(key)
        if found is None:
            issuer = Issuer(url, _people(launch.argv), {})
            found = _LISTENING[key] = (Listening(issuer, launch.world.directory / "issuers"), set())
        listening, pods = found
        listening.issuer.clients.setdefault(client, set()).add(secret)
        pods.add(launch.pod_name)
    return listening


def left(launch: Launch) -> None:
    """The pod runs no more; with the last one the stand-in ends."""
    key = (str(launch.world.directory), _value(launch.argv, "--oidc-issuer-url"))
    with _LOCK:
        listening, pods = _LISTENING.get(key, (None, set()))
        pods.discard(launch.pod_name)
        if listening is not None and not pods:
            _LISTENING.pop(key)
            listening.close()


def _people(argv: Sequence[str]) -> list[Person]:
    groups = [word.partition("=")[2] for word in argv if word.startswith("--allowed-group=")]
    known = {f"of-{group}": (group,) for group in groups} | {STRANGER: ()}
    return [
        Person(f"subject-{index}", name, f"{re.sub(r'[^a-z0-9]', '-', name.lower())}@example.com", its)
        for index, (name, its) in enumerate(known.items())
    ]


def _value(argv: Sequence[str], flag: str) -> str:
    found = next((word.partition("=")[2] for word in argv if word.startswith(f"{flag}=")), None)
    if found is None:
        raise LaunchError(f"missing setting: {flag.strip('-')}")
    return found


def _secret(launch: Launch) -> str:
    path = _value(launch.argv, "--client-secret-file")
    secret = volumes.mounted(launch, path)
    if secret is None:
        raise LaunchError(f"could not read client secret file: {path}")
    return secret.decode()
