"""crictl(1), as far as it pulls: what a registry answers that asks who pulls, and what of it the kubelet may have.

Sources: cri-tools, cmd/crictl/image.go (CRICTL_AUTH; inspecti ends with 1 where there is no such image); containerd,
core/remotes/docker/resolver.go and docker/auth (words); Kubernetes, pkg/credentialprovider (config.json in the
kubelet's directory).
"""

import json
import os
import pathlib
import re

from rehearsal.metal.tools.machine import absent, called, complain, facts, lasting, version

LOGINS = pathlib.Path("/var/lib/kubelet/config.json")
CONFIGURATION = pathlib.Path("/etc/containerd/config.toml")
_VALUED = ("--runtime-endpoint", "-r")


def main(name: str, words: list[str]) -> int:
    """`pull IMAGE` and `inspecti IMAGE`. kubeadm's package brings it (pkgs.k8s.io: kubeadm depends on cri-tools)."""
    if not version("kubeadm"):
        return absent(name)
    called(name, words)
    plain = [word for at, word in enumerate(words) if not word.startswith("-") and words[at - 1] not in _VALUED]
    verb, image = plain[0], plain[-1]
    with lasting() as state:
        have = state.setdefault("images", [])
        if verb == "inspecti":
            return 0 if image in have else complain(f'no such image "{image}" present', 1)
        if verb != "pull":
            return complain(f"No help topic for '{verb}'", 3)
        why = refusal(image, os.environ.get("CRICTL_AUTH", ""))
        if why:
            return complain(f'pulling image: rpc error: code = Unknown desc = failed to pull image "{image}": {why}', 1)
        have += [] if image in have else [image]
    print(f"Image is up to date for {image}")
    return 0


def refusal(image: str, login: str) -> str:
    """What a registry says to whoever pulls with that login; empty where it gives the image."""
    host = image.partition("/")[0]
    for each in facts().get("registries", ()):
        asks, _, right = each.partition("=")
        if asks != host or (login and right in ("", login)):
            continue
        said = "unexpected status from HEAD request: 401 Unauthorized"
        if not login:
            said = (
                "pull access denied, repository does not exist or may require authorization: authorization failed: "
                "no basic auth credentials"
            )
        return f'failed to resolve reference "{image}": {said}'
    return ""


def kept_back() -> str:
    """Why the kubelet starts no pod: the image of sandboxes is not there, or it is nobody at its registry."""
    found = re.search(r'^  sandbox = "([^"]+)"$', CONFIGURATION.read_text(), re.MULTILINE)
    image = found[1] if found else ""
    with lasting() as state:
        there = image in state.get("images", [])
    if not there and refusal(image, ""):
        return f"failed to create pod sandbox: {refusal(image, '')}"
    logins = json.loads(LOGINS.read_text())["auths"] if LOGINS.exists() else {}
    return refusal(image, logins.get(image.partition("/")[0], {}).get("auth", ""))
