"""What AWS refuses or gives to everybody, and what alerts, adapters, logs and policies count on and nobody has."""

import json
from typing import Any

from tests.graph.changes import MISSING, Change, put
from tests.policy.cases.case import Case

RANGES, HELD, DISKS = "ranges_do_not_overlap", "subnets_hold_their_nodes", "keys_of_disks_let_nodes_start"
EVERYBODY, RECORDS, ALERTS = "nobody_is_everybody", "records_are_kept_and_told", "alerts_have_their_series"
ADAPTERS, LOGS, CALLED = "adapters_find_their_series", "logs_have_their_group", "addresses_lead_to_a_service"
MEANT, FLAGS, CILIUM = "policies_mean_somebody", "servers_know_their_flags", "cilium_finds_the_api"
SUBNET, CLUSTER, BUDGET = "network-subnet-gpu-use2-az1", "cluster-control-plane", "spending-budget"
OPERATOR, STACK, ADAPTER = "gpu-operator-release", "monitoring-stack-chart-release", "metrics-adapter-release"
SERVICES = "kubernetesNetworkConfig.serviceIpv4Cidr"
KEY = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-779e6270dfac"
WORDS = "spec.template.spec.containers.0.command"
CALLERS = "network-rules-inference-callers"
CREDENTIALS = "spec.endpoints.0.authorization.credentials.name"
SERVER, SMOKE = "service-llama-3-70b-deployment", "smoke-llama-3-70b-request"
ADDRESS = "spec.template.spec.containers.0.env.0.value"


def document(effect: str, principal: Any, action: str, **more: Any) -> str:
    """A policy of one statement."""
    one = {"Effect": effect, "Principal": principal, "Action": action, "Resource": "*", **more}
    return json.dumps({"Version": "2012-10-17", "Statement": [one]})


def disk(key: str) -> Change:
    """A template whose disk has a key of its own."""
    return put("pool-training-template", "blockDeviceMappings", [{"deviceName": "/dev/xvda", "ebs": {"kmsKeyId": key}}])


def bucket(effect: str, action: str, **more: Any) -> Change:
    return put("object-store-policy", "policy", document(effect, "*", action, **more))


def notified(**who: Any) -> Change:
    one = {"threshold": 80, "thresholdType": "PERCENTAGE", **who}
    return put(BUDGET, "notifications", [one])


def rule(query: str, matches: str) -> Change:
    """An adapter with one rule."""
    path = "values.rules.custom"
    name = {"as": "vllm_num_requests_waiting", "matches": matches}
    return put(ADAPTER, path, [{"seriesQuery": query, "name": name}])


TLS = {"Bool": {"aws:SecureTransport": "false"}}
ON_DEV: dict[str, Any] = {"stack": "dev"}
ON_METAL: dict[str, Any] = {"stack": "metal"}

CASES = [
    Case(RANGES, put(SUBNET, "cidrBlock", "10.64.0.0/17"), "which shares addresses with network-subnet-"),
    Case(RANGES, put(SUBNET, "cidrBlock", "10.65.0.0/17"), "which lies outside of 10.64.0.0/16 of its VPC"),
    Case(RANGES, put(CLUSTER, SERVICES, "10.64.0.0/16"), "which shares addresses with network-vpc"),
    Case(RANGES, put(CLUSTER, SERVICES, "172.20.0.0/8"), "EKS takes private ranges of /12 to /24"),
    Case(RANGES, put(CLUSTER, SERVICES, "172.20.0.0/16"), None),
    Case(HELD, put(SUBNET, "cidrBlock", "10.64.128.0/29"), "has 3 addresses for nodes whose interfaces take"),
    Case(HELD, put(SUBNET, "cidrBlock", "10.64.128.0/22"), None),
    Case(DISKS, disk(KEY), "encrypts a disk with keys-key, which EC2 Auto Scaling may not use", preview=False),
    Case(DISKS, disk("alias/aws/ebs"), None),
    Case(
        EVERYBODY,
        put("node-role-role", "assumeRolePolicy", document("Allow", {"AWS": "*"}, "sts:AssumeRole")),
        "can be taken by everybody",
    ),
    Case(EVERYBODY, bucket("Allow", "s3:GetObject"), "lets everybody in"),
    Case(EVERYBODY, bucket("Deny", "s3:*"), "denies everything to everybody"),
    Case(EVERYBODY, bucket("Deny", "s3:*", Condition=TLS), None),
    Case(EVERYBODY, bucket("Deny", "s3:*", Resource="arn:aws:s3:::a/locked/*"), None),
    Case(RECORDS, put("object-store-versioning", "versioningConfiguration.status", "Suspended"), "what is overwritten"),
    Case(RECORDS, put("pod-logs-group", "retentionInDays", 8), "keeps its log 8 days, which CloudWatch refuses"),
    Case(RECORDS, put("pod-logs-group", "retentionInDays", 365), None),
    Case(RECORDS, notified(), "tells nobody at 80 PERCENTAGE"),
    Case(RECORDS, notified(subscriberEmailAddresses=["a@example.com"]), None),
    Case(RECORDS, put(BUDGET, "costFilters.0.values", ["gpucluster:stack$prod"]), "which no cost has"),
    Case(ALERTS, put(OPERATOR, "values.dcgmExporter.enabled", False), "the DCGM exporter is switched off"),
    Case(ALERTS, put(OPERATOR, "values.dcgmExporter.serviceMonitor.enabled", False), "has no ServiceMonitor for it"),
    Case(ALERTS, put(STACK, "values.nodeExporter", {"enabled": False}), "node-exporter is switched off"),
    Case(ALERTS, put(STACK, "values.kubeStateMetrics", {"enabled": False}), "kube-state-metrics is switched off"),
    Case(ALERTS, put(STACK, "values.kubeStateMetrics", {"enabled": True}), None),
    Case(ADAPTERS, put(ADAPTER, "values.prometheus.url", "http://prometheus.monitoring.svc"), "where no", False, "dev"),
    Case(ADAPTERS, put(ADAPTER, "values.prometheus.port", 80), "its Service has 9090", False, "dev"),
    Case(ADAPTERS, rule("vllm_waiting{}", "^vllm:waiting$"), "which it does not match: it serves none", **ON_DEV),
    Case(ADAPTERS, rule("vllm:waiting{}", "^vllm:waiting$"), None, **ON_DEV),
    Case(
        LOGS, put("pod-logs-group", "name", "/aws/eks/gpucluster-prod/others"), "which nothing creates: what pods say"
    ),
    Case(LOGS, put("log-collector-release", "values.config.outputs", "auto_create_group On\nlog_group_name /a"), None),
    Case(
        CALLED,
        put(SMOKE, ADDRESS, "http://llama.inference.svc:8000/v1"),
        "and nothing makes the Service llama there",
        False,
    ),
    Case(CALLED, put(SMOKE, ADDRESS, "http://llama-3-70b.inference.svc/v1"), "at 80; that Service has 8000", False),
    Case(CALLED, put(SMOKE, ADDRESS, "http://llama-3-70b.inference.svc.cluster.local:8000/v1"), None),
    Case(
        MEANT,
        put("network-rules-inference-scraped", "spec.podSelector", {"matchLabels": {"app": "nobody-here"}}),
        "none there",
        False,
    ),
    Case(MEANT, put(CALLERS, "spec.ingress.0.from.1.podSelector", {"matchLabels": {"app": "nobody-here"}}), None),
    Case(
        MEANT,
        put(CALLERS, "spec.ingress.0.from.0", {"podSelector": {"matchLabels": {"app": "nobody-here"}}}),
        "lets through",
        False,
    ),
    Case(MEANT, put("network-rules-inference-scraped", "spec.podSelector", {}), None),
    Case(FLAGS, put(SERVER, WORDS, ["vllm", "serve", "/models/a", "--max-modellen=1"]), "--max-model-len is near"),
    Case(FLAGS, put(SERVER, WORDS, ["vllm", "serve", "/models/a", "--max_model_len=1", "--no-async-scheduling"]), None),
    Case(
        "lustre_is_sold_so", put("lustre-file-system", "fileSystemTypeVersion", "2.10"), "in which PERSISTENT_2 is not"
    ),
    Case("admission_policies_refuse", put("pinned-memory-policy", "spec.failurePolicy", "Ignore"), "lets in what its"),
    Case("namespaces_state_their_level", put("namespaces-inference", "metadata.labels", MISSING), "admits privileged"),
    Case(
        "namespaces_state_their_level",
        put("namespaces-inference", "metadata.labels", {"pod-security.kubernetes.io/enforce": "privileged"}),
        None,
    ),
    Case(
        CILIUM,
        put("cilium-release", "values.ipam.operator.clusterPoolIPv4PodCIDRList", ["10.100.0.0/16"]),
        "which shares addresses with 10.96.0.0/12 of Services",
        **ON_METAL,
    ),
    Case(
        CILIUM, put("cilium-release", "values.kubeProxyReplacement", "false"), "and kubeadm installs none", **ON_METAL
    ),
    Case(
        "fabric_plugins_reach_their_nodes",
        put("kube-platform-nic-cluster-policy", "metadata.name", "policy"),
        "the network operator looks at nic-cluster-policy alone",
        **ON_METAL,
    ),
    Case("references_exist", put("service-llama-3-70b-monitor", CREDENTIALS, "keys"), "names the Secret keys", False),
]
