"""What is asked of a cluster, through `kubectl` as whoever may destroy the stack."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]
WAIT_SECONDS = 600


class VacateError(Exception):
    """Why nothing, or not everything, was done; the text is kubectl's or says what to type."""


class Kubectl:
    """`kubectl` with the context that is current, or one that is named."""

    def __init__(self, binary: str = "kubectl", context: str | None = None) -> None:
        self._argv = [binary, *(("--context", context) if context else ())]

    def cluster(self) -> str:
        """The name of the context's cluster; an ARN where `aws eks update-kubeconfig` wrote it."""
        return self._run("config", "view", "--minify", "--output", "jsonpath={.contexts[0].context.cluster}")

    def all(self, kinds: str) -> list[Object]:
        """The objects of these kinds everywhere, with who manages their fields."""
        words = ("get", kinds, "--all-namespaces", "--output", "json", "--show-managed-fields")
        items: list[Object] = json.loads(self._run(*words))["items"]
        return items

    def kinds(self) -> frozenset[str]:
        """The kinds that somebody has defined in the cluster, as PLURAL.GROUP."""
        return frozenset(name(each) for each in self.all("customresourcedefinitions"))

    def delete(self, words: Sequence[str]) -> None:
        """Delete, and wait until finalizers have let it go."""
        self._run("delete", *words, "--ignore-not-found", "--wait", f"--timeout={WAIT_SECONDS}s")

    def _run(self, *words: str) -> str:
        try:
            done = subprocess.run([*self._argv, *words], capture_output=True, text=True, timeout=WAIT_SECONDS + 60)
        except FileNotFoundError:
            raise VacateError("kubectl is not on PATH: install it") from None
        except subprocess.TimeoutExpired:
            raise VacateError(f"kubectl {' '.join(words[:2])} gave no answer in {WAIT_SECONDS + 60} s") from None
        if done.returncode:
            raise VacateError(f"kubectl {' '.join(words[:2])}: {done.stderr.strip()}")
        return done.stdout.strip()


def name(thing: Object) -> str:
    return str(thing["metadata"]["name"])
