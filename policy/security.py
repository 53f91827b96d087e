"""Rules about pod security: a namespace's level admits the pods that are put there."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import metadata_of
from policy.graph import UNKNOWN, Graph
from policy.owners import chart_of, program_of
from policy.pods import Pod, is_kubernetes, objects, pods
from policy.rule import Finding, rule
from policy.words import words

ENFORCE = "pod-security.kubernetes.io/enforce"
BASELINE_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
RESTRICTED_VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
CALLERS = ("kubectl", "training-operator", "mpi-operator")
PRIVILEGED_CHARTS = (
    "aws-efa-k8s-device-plugin",
    "aws-ebs-csi-driver",
    "aws-efs-csi-driver",
    "aws-fsx-csi-driver",
    "dcgm-exporter",
    "gpu-operator",
    "network-operator",
    "node-problem-detector",
    "nvidia-device-plugin",
    "prometheus-node-exporter",
    "rook-ceph",
)
"""Charts whose pods need the host."""


def _security(container: Mapping[str, Any]) -> Mapping[str, Any]:
    context: Mapping[str, Any] = container.get("securityContext") or {}
    return context


def against_baseline(pod: Pod) -> Iterator[str]:
    """What of a pod the level `baseline` refuses."""
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.spec.get(key):
            yield key
    yield from (
        f"the hostPath {each['hostPath'].get('path')}" for each in pod.spec.get("volumes") or [] if "hostPath" in each
    )
    for each in pod.containers:
        name, context = each.get("name"), _security(each)
        if context.get("privileged"):
            yield f"privileged in {name}"
        added = {str(one).removeprefix("CAP_") for one in (context.get("capabilities") or {}).get("add") or []}
        if added - BASELINE_CAPABILITIES:
            yield f"the capabilities {', '.join(sorted(added - BASELINE_CAPABILITIES))} in {name}"
        if any(port.get("hostPort") for port in each.get("ports") or []):
            yield f"a hostPort in {name}"
        if (context.get("seccompProfile") or {}).get("type") == "Unconfined":
            yield f"seccompProfile Unconfined in {name}"
        if context.get("procMount", "Default") != "Default":
            yield f"procMount {context['procMount']} in {name}"


def against_restricted(pod: Pod) -> Iterator[str]:
    """What of a pod the level `restricted` refuses, beyond `baseline`."""
    own = _security(pod.spec)
    for volume in pod.spec.get("volumes") or []:
        if kinds := sorted(set(volume) - {"name", "hostPath"} - RESTRICTED_VOLUMES):
            yield f"a volume of the kind {', '.join(kinds)}"
    for each in pod.containers:
        name, context = each.get("name"), _security(each)
        capabilities = context.get("capabilities") or {}
        if context.get("allowPrivilegeEscalation") is not False:
            yield f"no allowPrivilegeEscalation: false in {name}"
        if "ALL" not in (capabilities.get("drop") or []) or set(capabilities.get("add") or []) - {"NET_BIND_SERVICE"}:
            yield f"capabilities that are not dropped in {name}"
        if context.get("runAsNonRoot", own.get("runAsNonRoot")) is not True:
            yield f"no runAsNonRoot: true in {name}"
        if 0 in (context.get("runAsUser"), own.get("runAsUser")):
            yield f"runAsUser 0 in {name}"
        if not (context.get("seccompProfile") or own.get("seccompProfile")):
            yield f"no seccompProfile in {name}"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/security/pod-security-admission/: a namespace without the "
    "label is privileged unless the API server's own configuration says otherwise",
    remedy="give the namespace the label pod-security.kubernetes.io/enforce: baseline, restricted or privileged",
)
def namespaces_state_their_level(graph: Graph) -> Iterator[Finding]:
    """A namespace of the program says which pods it admits: else each pod may do to its node what it likes (Y15)."""
    for each in graph.of_type("Namespace"):
        labels = metadata_of(each).get("labels") or {}
        if is_kubernetes(each) and labels != UNKNOWN and ENFORCE not in labels:
            yield each.name, f"has no label {ENFORCE}, and so admits privileged pods"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/security/pod-security-standards/",
    remedy="take it out of the pod, or give the namespace the label pod-security.kubernetes.io/enforce: privileged",
)
def namespaces_admit_their_pods(graph: Graph) -> Iterator[Finding]:
    """A namespace's pod security level admits every pod in it (Y15)."""
    levels = {
        metadata_of(each).get("name"): (metadata_of(each).get("labels") or {}).get(ENFORCE, "privileged")
        for each in graph.of_type("Namespace")
        if is_kubernetes(each)
    }
    for pod in pods(graph):
        level = levels.get(pod.namespace, "privileged")
        against = list(against_baseline(pod)) if level in ("baseline", "restricted") else []
        against += against_restricted(pod) if level == "restricted" else ()
        if against:
            yield (
                pod.owner,
                f"has {'; '.join(dict.fromkeys(against))}, which the namespace {pod.namespace} ({level}) refuses",
            )
    for each in graph.of_type("Release"):
        level = levels.get(each.inputs.get("namespace"), "privileged")
        if level != "privileged" and chart_of(each) in PRIVILEGED_CHARTS:
            yield (
                each.name,
                f"needs the host of its nodes, which the namespace {each.inputs['namespace']} ({level}) refuses",
            )


@rule(
    source="Kubernetes: Using RBAC Authorization (an account without a binding may ask for nothing)",
    remedy="bind a Role or ClusterRole to the pod's service account",
)
def callers_have_rights(graph: Graph) -> Iterator[Finding]:
    """A pod that calls the API server has a service account with permissions (J08)."""
    bound = {
        (subject.get("namespace"), subject.get("name"))
        for each in graph.of_type("RoleBinding", "ClusterRoleBinding")
        for subject in each.inputs.get("subjects") or []
    }
    for pod in pods(graph):
        account = (pod.namespace, pod.spec.get("serviceAccountName") or "default")
        calling = [
            each for each in pod.containers if program_of(each) in CALLERS or (words(each) or [""])[0] == "kubectl"
        ]
        ours = account in objects(graph, "ServiceAccount") or account[1] == "default"
        if calling and ours and account not in bound:
            yield (
                pod.owner,
                (f"calls the API server in {calling[0].get('name')} as {account[1]}, which has no permissions"),
            )
