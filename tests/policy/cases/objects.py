"""Kubernetes objects of the shipped stacks with one thing made wrong, as a change of the program would.

More of them, as changes of the program: tests/policy/test_make_up.py.
"""

from tests.graph.changes import MISSING, both, gone, more, put
from tests.policy.cases.case import Case

RUN, SERVER = "run-llama-3-70b-pretrain-job", "service-llama-3-70b-deployment"
SERVICE, BUDGET, MONITOR = (f"service-llama-3-70b-{each}" for each in ("service", "disruption-budget", "monitor"))
OPERATOR, HOOK = "training-operator-deployment", "training-operator-webhook"
DATA = "claims-training-training-data"
POD = "spec.template.spec"
MAIN = f"{POD}.containers.0"
MASTER = "spec.pytorchReplicaSpecs.Master.template.spec"


JOBS = [
    Case("operators_form_gangs", put(OPERATOR, f"{MAIN}.args", ["--gang-scheduler-name", "volcano"]), None),
    Case("jobs_have_their_operator", put(OPERATOR, f"{MAIN}.args", ["--enable-scheme=mpijob"]), "is a PyTorchJob"),
    Case("roles_known", put(RUN, "spec.pytorchReplicaSpecs.Master.replicas", 2), "has 2 replicas of Master"),
    Case("gangs_start_whole", put(RUN, "spec.runPolicy.schedulingPolicy.minAvailable", 1), "starts with 1 of its pods"),
    Case("gangs_start_whole", put(RUN, "spec.pytorchReplicaSpecs.Worker.replicas", 6), "starts with 8 of its pods"),
    Case("process_per_gpu", put(RUN, "spec.nprocPerNode", "4"), "starts 4 processes in a pod of 8"),
    Case("launchers_believe_the_operator", put(RUN, f"{MASTER}.containers.0.args", ["--standalone"]), "trains alone"),
    Case(
        "gangs_take_their_efa",
        put(RUN, f"{MASTER}.containers.0.resources", {"limits": {"nvidia.com/gpu": "8"}}),
        "would use TCP",
    ),
    Case("processes_share_memory", put(RUN, f"{MASTER}.containers.0.volumeMounts", []), "64 MiB of shared memory"),
    Case("shared_memory_fits", put(RUN, f"{MASTER}.volumes.2.emptyDir.sizeLimit", "3Ti"), "in containers"),
    Case("restarts_agree", put(RUN, "spec.runPolicy.backoffLimit", 0), "ends at the first failure"),
    Case("waits_end", put("gang-admission-wait-first", "spec.activeDeadlineSeconds", MISSING), "may wait indefinitely"),
    Case("waits_end", put("gang-admission-wait-first", "spec.activeDeadlineSeconds", 200), "is terminated after 200 s"),
]
SERVERS = [
    Case("servers_may_load", put(SERVER, f"{MAIN}.startupProbe.failureThreshold", 6), "by the startupProbe 60 s"),
    Case("parallel_sizes_fit", put(SERVER, f"{MAIN}.resources.limits.nvidia~com/gpu", "2"), "asks for 2 GPUs"),
    Case("services_lead_to_pods", put(SERVICE, "spec.selector.app~kubernetes~io/name", "tgi"), "no template in", False),
    Case("services_lead_to_pods", put(SERVICE, "spec.ports.0.targetPort", "web"), "leads to the port web"),
    Case("containers_listen_where_asked", put(SERVER, f"{MAIN}.startupProbe.httpGet.port", 9000), "listens on 8001"),
    Case("requests_reach_a_service", put(HOOK, "webhooks.0.clientConfig.service.port", 9443), "port 9443"),
    Case(
        "monitors_find_their_service", put(MONITOR, "spec.endpoints.0.port", "metrics"), "for the port metrics", False
    ),
    Case("budgets_let_nodes_drain", put(BUDGET, "spec.maxUnavailable", 0), "allows no disruption of"),
    Case(
        "controllers_know_their_pods",
        put(SERVER, "spec.selector.matchLabels.app~kubernetes~io/instance", "other"),
        "labels its pods",
    ),
    Case("pods_may_stop", put(SERVER, f"{MAIN}.lifecycle", {"preStop": {"sleep": {"seconds": 900}}}), "sleeps 900 s"),
    Case("namespaces_admit_their_pods", put(SERVER, f"{MAIN}.securityContext.privileged", True), "privileged", False),
]
VOLUMES = [
    Case("claims_fit_their_volumes", put(f"{DATA}-claim", "spec.storageClassName", MISSING), "the default one", False),
    Case("claims_fit_their_volumes", put(f"{DATA}-claim", "spec.accessModes", ["ReadWriteOnce"]), "asks for", False),
]
TRAFFIC = [
    Case("policies_leave_the_api", gone("network-rules-kubeflow-asked-by-the-api"), "closed to the API server", False),
    Case("namespaces_deny_by_default", gone("network-rules-training-deny-by-default"), "has pods and no", False),
]
OWNERS = [
    Case("one_owner_per_daemon", more("second", "efa-plugin-release", namespace="training"), "the EFA device plugin"),
    Case("objects_are_one", more("second", "metrics-server-release"), "is the Release metrics-server", False),
    Case(
        "images_elsewhere_pinned",
        put("gpu-operator-release", "values.driver", {"repository": "nvcr.io/nvidia", "image": "driver"}),
        "names the image driver",
    ),
    Case(
        "one_owner_per_daemon",
        both(gone("efa-plugin-release"), more("second", "metrics-server-release", chart="aws-efa-k8s-device-plugin")),
        None,
    ),
]
CASES = [*JOBS, *SERVERS, *VOLUMES, *TRAFFIC, *OWNERS]
