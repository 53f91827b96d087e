"""Pods in a sandbox that is not there, that no node has, or that passes on no devices."""

from tests.graph.changes import Change, both, put, registered
from tests.policy.cases.case import Case

JOB, SYSTEM, RUN = "shared-files-data-job", "pool-system-nodes", "run-llama-3-70b-pretrain-job"
TOKEN = "kubernetes:node.k8s.io/v1:RuntimeClass"
LABEL = {"gpucluster/sandbox": "gvisor"}


def made(handler: str = "runsc") -> Change:
    inputs = {"metadata": {"name": "gvisor"}, "handler": handler, "scheduling": {"nodeSelector": LABEL}}
    return registered("sandbox-class", TOKEN, **inputs)


def runs(owner: str, path: str = "spec.template.spec") -> Change:
    return put(owner, f"{path}.runtimeClassName", "gvisor")


HAS = put(SYSTEM, "labels.gpucluster/sandbox", "gvisor")
MASTER = "spec.pytorchReplicaSpecs.Master.template.spec"
SERVER = "service-llama-3-70b-deployment"

CASES = [
    Case("sandboxes_are_there", runs(SERVER), "RuntimeClass gvisor, which nothing registers"),
    Case("sandboxes_are_there", both(made(), runs(SERVER)), None),
    Case("sandboxes_are_there", put(SERVER, "spec.template.spec.runtimeClassName", "nvidia"), None),
    Case("sandboxes_have_nodes", both(made(), runs(SERVER), HAS), "on nodes with gpucluster/pool=inference"),
    Case("sandboxes_have_nodes", both(made("runc"), runs(SERVER), HAS), None),
    Case("sandboxes_have_no_devices", both(made(), runs(RUN, MASTER), HAS), "asks for nvidia.com/gpu in gVisor"),
    Case("sandboxes_have_no_devices", both(made("runc"), runs(RUN, MASTER), HAS), None),
]
