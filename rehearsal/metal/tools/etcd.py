"""What kubeadm and a person do with etcd's members. Who is one, and answers, is the hall's to know.

Source: kubernetes cmd/kubeadm/app/phases/etcd/local.go; etcdctl's `member` commands, by `kubectl exec` in a member's
pod.
"""

import pathlib
import re

from rehearsal.metal.tools.machine import ask, complain

MANIFEST = pathlib.Path("/etc/kubernetes/manifests/etcd.yaml")
POD = re.compile(r"etcd-(\S+)")


def begin() -> None:
    """A cluster of one member, this machine (CreateLocalEtcdStaticPodManifestFile)."""
    _member("begin")


def join() -> None:
    """One member more (CreateStackedEtcdStaticPodManifestFile)."""
    _member("add")


def _member(verb: str) -> None:
    MANIFEST.parent.mkdir(exist_ok=True)
    MANIFEST.write_text("# static pod etcd\n")
    ask({"kind": "etcd", "verb": verb})


def leave() -> None:
    """A machine that is reset is no member any more (RemoveStackedEtcdMemberFromCluster)."""
    if MANIFEST.exists():
        ask({"kind": "etcd", "verb": "leave"})


def unhealthy() -> str:
    """Why no member may be added; empty where every one answers (CheckLocalEtcdClusterStatus)."""
    return ask({"kind": "etcd", "verb": "check"}).get("error", "")


def etcdctl(words: list[str]) -> int:
    """`exec etcd-NAME -- etcdctl ... member list`, and `member remove ID`."""
    pods = [found[1] for found in map(POD.fullmatch, words) if found]
    verb, *rest = words[words.index("member") + 1 :] if "member" in words else ["", ""]
    if not pods or verb not in ("list", "remove"):
        return complain(f"Error: unknown command {' '.join(words)!r}", 1)
    answer = ask({"kind": "etcd", "verb": verb, "through": pods[0], "id": rest[0] if rest else ""})
    if "error" in answer:
        return complain(answer["error"], 1)
    print(answer["said"])
    return 0
