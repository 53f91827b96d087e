"""What processes read, keep and wait for, in places and amounts that are not there; and each right in another way."""

from typing import Any

from tests.graph.changes import MISSING, Change, put
from tests.policy.cases.case import Case

SERVER, RUN = "service-llama-3-70b-deployment", "run-llama-3-70b-pretrain-job"
GROUP, CNI, CLUSTER = "pool-training-nodes", "node-addons-vpc-cni", "cluster-control-plane"
VLLM = "spec.template.spec.containers.0"
POD = "spec.pytorchReplicaSpecs.Worker.template.spec"
RULES, VOLCANO = "rules-alerts", "custom.scheduler_config_override"
FIRST = "spec.groups.0.rules.0"
QUOTA = "namespaces-inference-inference-quota"


def serves(*words: str) -> Change:
    """The server of the shipped stack, with other words."""
    return put(SERVER, f"{VLLM}.command", ["vllm", "serve", *words])


def told(name: str, value: str) -> Change:
    """A run's worker with one variable."""
    return put(RUN, f"{POD}.containers.0.env", [{"name": name, "value": value}])


def wants(key: str, operator: str = "In") -> Change:
    """A run's worker that asks for a label of its node."""
    term = {"key": key, "operator": operator, "values": ["pass"]}
    path = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    return put(RUN, f"{POD}.{path}", [{"matchExpressions": [term]}])


def scheduler(*plugins: str) -> Change:
    """Volcano with these plugins of its scheduler."""
    text = 'actions: "allocate, backfill, reclaim, preempt"\ntiers:\n- plugins:\n'
    return put("volcano-release", "values", {"custom": {VOLCANO.partition(".")[2]: text + "".join(plugins)}})


def plugins(*names: str) -> tuple[str, ...]:
    return tuple(f"  - name: {each}\n" for each in names)


def limited(**hard: Any) -> Change:
    """A quota for every pod and claim of the namespace of services."""
    return put(QUOTA, "spec", {"hard": {key.replace("__", "."): value for key, value in hard.items()}})


READ, KEPT, LOAD = "what_is_read_is_mounted", "caches_can_be_written", "servers_survive_their_load"
FORMS, TAKEN, PLACED = "scheduler_forms_gangs", "monitoring_is_accepted", "pods_can_be_placed"
QUOTAS, FIT, SOLD = "quotas_hold_what_is_registered", "pods_fit_their_nodes", "types_are_sold_so"
KEEPS = "protected_clusters_are_kept"
PATIENT = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10}

CASES = [
    Case(READ, serves("/weights/llama"), "serves the model in /weights/llama, where no volume is mounted"),
    Case(READ, serves("--port=8001", "--model=/weights"), "serves the model in /weights, where no volume"),
    Case(READ, serves("meta-llama/Llama-3.1-70B"), "from the hub, and HF_HUB_OFFLINE forbids to ask it"),
    Case(READ, told("DATASET_DIR", "/dataset"), "reads DATASET_DIR from /dataset, where no volume is mounted"),
    Case(READ, told("DATASET_DIR", "/data/part"), None),
    Case(READ, put(SERVER, f"{VLLM}.env", MISSING), None),
    Case(KEPT, put(SERVER, f"{VLLM}.volumeMounts.1.readOnly", True), "keeps VLLM_CACHE_ROOT in /compiled/"),
    Case(KEPT, put(SERVER, f"{VLLM}.volumeMounts.1.readOnly", False), None),
    Case(LOAD, serves("/models/llama-3-70b-3a7f77eb", "--gpu-memory-utilization=1.2"), "asks for 1.2 of a GPU's"),
    Case(LOAD, serves("/models/llama-3-70b-3a7f77eb", "--gpu-memory-utilization", "90%"), "asks for 90% of a GPU's"),
    Case(LOAD, serves("/models/llama-3-70b-3a7f77eb", "--gpu-memory-utilization=0.95"), None),
    Case(
        LOAD, put(SERVER, f"{VLLM}.livenessProbe", {**PATIENT, "failureThreshold": 1}), "after 10 s without an answer"
    ),
    Case(LOAD, put(SERVER, f"{VLLM}.livenessProbe", PATIENT), None),
    Case(FIT, put(RUN, f"{POD}.containers.0.resources.requests.memory", "4000Gi"), "requests 4,000 GiB of memory"),
    Case(FIT, put(RUN, f"{POD}.containers.0.resources.requests.cpu", "200"), "requests 200 processors in one pod"),
    Case(FIT, put(RUN, f"{POD}.containers.0.resources.requests.cpu", "180"), None),
    Case(PLACED, put(RUN, f"{POD}.nodeName", "ip-10-0-0-1"), "names the node ip-10-0-0-1"),
    Case(PLACED, wants("gpucluster/gates"), "wants nodes with the label gpucluster/gates, which nothing here gives"),
    Case(PLACED, wants("gpucluster/gate"), None),
    Case(PLACED, wants("gpucluster/gates", "DoesNotExist"), None),
    Case(SOLD, put(GROUP, "labels", {"node-role.kubernetes.io/gpu": ""}), "whose prefix EKS keeps to itself"),
    Case(SOLD, put(GROUP, "labels", {"team": "a", "example.com/team": "a"}), None),
    Case("nodes_reach_out", put("network-nat", "connectivityType", "private"), "is private, and so leads to"),
    Case("nodes_reach_out", put("network-nat", "connectivityType", "public"), None),
    Case("network_policies_are_enforced", put(CNI, "configurationValues", MISSING), "enforces no NetworkPolicy"),
    Case("network_policies_are_enforced", put(CNI, "configurationValues", "{a: ["), "are no document of JSON"),
    Case("network_policies_are_enforced", put(CNI, "configurationValues", 'enableNetworkPolicy: "true"'), None),
    Case(KEEPS, put(CLUSTER, "enabledClusterLogTypes", ["api"]), "writes no audit log"),
    Case(KEEPS, put(CLUSTER, "enabledClusterLogTypes", ["audit"]), None),
    Case(KEEPS, put(CLUSTER, "deletionProtection", MISSING), "may be deleted by one call"),
    Case(
        "protected_files_are_backed_up",
        put("lustre-file-system", "automaticBackupRetentionDays", 0),
        "holds lasting data and has no automatic backups",
    ),
    Case("protected_files_are_backed_up", put("lustre-file-system", "automaticBackupRetentionDays", 1), None),
    Case(FORMS, scheduler(*plugins("gang", "proportion")), "without predicates: taints, selectors and affinity"),
    Case(FORMS, scheduler(*plugins("gang", "predicates")), "shares nothing by queues like"),
    Case(FORMS, scheduler(*plugins("gang", "predicates", "capacity", "numaaware")), "names the plugin numaaware"),
    Case(FORMS, scheduler(*plugins("gang", "predicates", "capacity", "numa-aware")), None),
    Case(QUOTAS, limited(pods=1), "lets 1 pods into inference, and the program alone puts 2 there", False),
    Case(QUOTAS, limited(requests__storage="1Gi"), "lets 1Gi requests.storage into inference", False),
    Case(QUOTAS, limited(persistentvolumeclaims="0"), "lets 0 persistentvolumeclaims into inference", False),
    Case(
        QUOTAS,
        put(QUOTA, "spec.scopeSelector.matchExpressions.0.values", ["serving"]),
        "counts the pods of the class serving, which nothing makes",
    ),
    Case(QUOTAS, limited(pods="10", persistentvolumeclaims="1"), None),
    Case(
        "gangs_start_whole",
        put(RUN, "spec.runPolicy.schedulingPolicy.minResources", {"nvidia.com/gpu": "72"}),
        "waits for 72 nvidia.com/gpu (minResources), and its pods ask for 64",
    ),
    Case("gangs_start_whole", put(RUN, "spec.runPolicy.schedulingPolicy.minResources", {"nvidia.com/gpu": 64}), None),
    Case(TAKEN, put(RULES, f"{FIRST}.for", "5 minutes"), "wait '5 minutes' (for), which is no duration"),
    Case(TAKEN, put(RULES, f"{FIRST}.for", "1h30m"), None),
    Case(TAKEN, put(RULES, f"{FIRST}.expr", "sum(rate(a[5m])"), "whose brackets or quotes do not close"),
    Case(TAKEN, put(RULES, f"{FIRST}.expr", 'a{b="("} # )\n> 1'), None),
    Case(TAKEN, put("dashboards-gpucluster-run", "data", {"run.json": "{"}), "and run.json is no JSON"),
    Case(TAKEN, put("dashboards-gpucluster-run", "data", {"run.json": "{}"}), None),
    Case("collectives_take_the_fast_path", told("CUDA_LAUNCH_BLOCKING", "1"), "waits for the one before it"),
    Case("collectives_take_the_fast_path", told("NCCL_DEBUG", "TRACE"), "INFO says which transport is used"),
    Case("collectives_take_the_fast_path", told("NCCL_DEBUG", "WARN"), None),
    Case(
        "pools_hold_what_selects_them",
        put("service-llama-3-8b-autoscaler", "spec.maxReplicas", 40),
        "needs 40 GPUs at once",
        preview=False,
        stack="dev",
    ),
    Case(
        "pools_hold_what_selects_them", put("service-llama-3-8b-autoscaler", "spec.maxReplicas", 1), None, stack="dev"
    ),
    Case("sandboxes_are_there", put(SERVER, "spec.template.spec.runtimeClassName", "kata"), "in the RuntimeClass kata"),
    Case("sandboxes_are_there", put(SERVER, "spec.template.spec.runtimeClassName", "nvidia"), None),
]
