"""Mistakes that a policy sees, each a function of what a right program would register, by the classes of their rules.

A copied program imports this module in its `__main__` and says which it makes. Nothing here knows the program's source.
"""

import base64
import json

from tests.engine import mistakes
from tests.engine.making import Props, mistake
from tests.engine.mistakes import DEPLOYMENT, GROUP, JOB, RELEASE, RUN, TEMPLATE, containers, replicas

ADDON, RULE_IN, RULE_OUT = (
    "aws:eks/addon:Addon",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
)
ASSOCIATION, ROLE_POLICY = (
    "aws:eks/podIdentityAssociation:PodIdentityAssociation",
    "aws:iam/rolePolicy:RolePolicy",
)
SERVER, POLICY = "service-llama-3-8b-deployment", "kubernetes:networking.k8s.io/v1:NetworkPolicy"
SCALER, CRON = "kubernetes:autoscaling/v2:HorizontalPodAutoscaler", "kubernetes:batch/v1:CronJob"
VOLUME = "kubernetes:core/v1:PersistentVolume"


# -- machines: how they are bought, wired and booted


@mistake(TEMPLATE, "pool-training-template", "instanceMarketOptions", "capacityReservationSpecification")
def block_in_a_placement_group(_: Props) -> Props:
    target = {"capacityReservationId": "cr-0123456789abcdef0"}
    return {
        "instanceMarketOptions": {"marketType": "capacity-block"},
        "capacityReservationSpecification": {"capacityReservationTarget": target},
    }


@mistake(RULE_OUT, "efa-self-out", "ipProtocol", "fromPort", "toPort")
def fabric_closed_on_its_way_out(_: Props) -> Props:
    return {"ipProtocol": "tcp", "fromPort": 0, "toPort": 65535}


@mistake(RULE_IN, "efa-self-in", "referencedSecurityGroupId", "cidrIpv4")
def fabric_open_to_addresses_alone(_: Props) -> Props:
    return {"referencedSecurityGroupId": None, "cidrIpv4": "10.0.0.0/8"}


@mistake(RULE_IN, "lustre-group-(self|nodes|to-nodes)-callbacks-in", "fromPort", "toPort")
def file_servers_cannot_call_back(_: Props) -> Props:
    return {"fromPort": 1021, "toPort": 1021}


@mistake(TEMPLATE, "pool-training-template", "networkInterfaces")
def first_interface_without_an_address(found: Props) -> Props:
    first, *others = found["networkInterfaces"]
    return {"networkInterfaces": [{**first, "interfaceType": "efa-only"}, *others]}


@mistake(GROUP, "pool-training-nodes", "amiType")
def image_that_reads_other_user_data(_: Props) -> Props:
    """It runs a device plugin of its own, too."""
    return {"amiType": "BOTTLEROCKET_x86_64_NVIDIA"}


@mistake(RELEASE, "gpu-operator-release", "values")
def driver_beside_that_of_the_image(found: Props) -> Props:
    found["values"]["driver"] = {"enabled": True}
    return found


@mistake(TEMPLATE, "pool-training-template", "userData")
def one_numa_node_for_a_whole_machine(_: Props) -> Props:
    config = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig"}
    told = json.dumps({**config, "spec": {"kubelet": {"config": {"topologyManagerPolicy": "single-numa-node"}}}})
    head = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n'
    text = f"{head}--x\nContent-Type: application/node.eks.aws\n\n{told}\n\n--x--\n"
    return {"userData": base64.b64encode(text.encode()).decode()}


@mistake(ADDON, "service-addons-coredns", "addonName")
def nobody_resolves_names(_: Props) -> Props:
    return {"addonName": "snapshot-controller"}


@mistake(ADDON, "node-addons-eks-pod-identity-agent", "addonName")
def nobody_hands_out_credentials(_: Props) -> Props:
    return {"addonName": "snapshot-controller"}


@mistake(ADDON, "service-addons-eks-node-monitoring-agent", "addonName")
def second_exporter_of_gpus(_: Props) -> Props:
    return {"addonName": "amazon-cloudwatch-observability"}


# -- runs


operator_without_gangs = mistakes.operator_without_gangs


@mistake(RUN, "run-.*-job", "spec")
def trainer_of_another_name(found: Props) -> Props:
    for pod in replicas(found["spec"]):
        pod["containers"][0]["name"] = "trainer"
    return found


@mistake(RUN, "run-.*-job", "spec")
def elastic_beside_a_master(found: Props) -> Props:
    found["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 1, "rdzvBackend": "c10d"}
    return found


def told(spec: Props, name: str, value: str) -> None:
    """A variable in every container of a run."""
    for pod in replicas(spec):
        for each in pod["containers"]:
            each["env"] = [*(each.get("env") or []), {"name": name, "value": value}]


@mistake(RUN, "run-.*-job", "spec")
def address_of_ones_own(found: Props) -> Props:
    told(found["spec"], "MASTER_ADDR", "llama-master-0.training.svc")
    return found


@mistake(RUN, "run-.*-job", "spec")
def collectives_over_tcp(found: Props) -> Props:
    told(found["spec"], "FI_PROVIDER", "tcp")
    return found


@mistake(RUN, "run-.*-job", "spec")
def transport_switched_off(found: Props) -> Props:
    told(found["spec"], "NCCL_P2P_DISABLE", "1")
    return found


@mistake(ASSOCIATION, "run-.*-identity-association", "serviceAccount")
def account_without_its_role(_: Props) -> Props:
    return {"serviceAccount": "trainer"}


@mistake(ROLE_POLICY, "weights-llama-3-8b-identity-policy", "policy")
def role_for_another_bucket(found: Props) -> Props:
    return {"policy": found["policy"].replace("acme-model-weights", "acme-weights")}


@mistake(ROLE_POLICY, "dataset-.*-identity-policy", "policy")
def role_that_lists_and_reads_nothing(found: Props) -> Props:
    return {"policy": found["policy"].replace("s3:GetObject", "s3:GetObjectTagging")}


# -- services


@mistake(DEPLOYMENT, SERVER, "spec")
def killed_while_it_loads(found: Props) -> Props:
    for each in containers(found["spec"]):
        if each.pop("startupProbe", None):
            each["livenessProbe"] = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 5}
    return found


@mistake(SCALER, "service-mistral-autoscaler", "spec")
def second_autoscaler_of_a_service(found: Props) -> Props:
    return {"spec": {**found["spec"], "scaleTargetRef": {**found["spec"]["scaleTargetRef"], "name": "llama-3-8b"}}}


@mistake(SCALER, "service-llama-3-8b-autoscaler", "spec")
def metric_by_the_name_of_its_series(found: Props) -> Props:
    for each in found["spec"]["metrics"]:
        each["pods"]["metric"]["name"] = "vllm:num_requests_waiting"
    return found


@mistake(SCALER, "service-llama-3-8b-autoscaler", "spec")
def metric_of_an_interface_that_nobody_serves(found: Props) -> Props:
    asked = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"}}
    return {"spec": {**found["spec"], "metrics": [{"type": "External", "external": asked}]}}


@mistake(RELEASE, "metrics-adapter-release", "chart")
def nobody_serves_the_metric(_: Props) -> Props:
    return {"chart": "prometheus-pushgateway"}


@mistake(DEPLOYMENT, SERVER, "spec")
def key_among_the_words(found: Props) -> Props:
    for each in containers(found["spec"]):
        each["command"] = [*(each.get("command") or []), "--api-key=correct-horse-battery"]
    return found


# -- what they stand on


@mistake(VOLUME, "claims-training-checkpoints-volume", "spec")
def file_system_for_one_node(found: Props) -> Props:
    return {"spec": {**found["spec"], "accessModes": ["ReadWriteOnce"]}}


@mistake(POLICY, "network-rules-training-name-service", "spec")
def names_over_udp_alone(found: Props) -> Props:
    for each in found["spec"]["egress"]:
        each["ports"] = [port for port in each["ports"] if port.get("protocol") == "UDP"]
    return found


@mistake(POLICY, "network-.*-training-gang-.*", "spec")
def one_port_between_the_pods_of_a_run(found: Props) -> Props:
    for each in (*found["spec"]["ingress"], *found["spec"]["egress"]):
        each["ports"] = [{"protocol": "TCP", "port": 23456}]
    return found


@mistake(CRON, "gate-training-weekly", "spec")
def image_that_moves_under_a_cron_job(found: Props) -> Props:
    for each in containers(found["spec"]["jobTemplate"]["spec"]):
        each["image"] = f"{each['image'].partition('@')[0].rpartition(':')[0]}:latest"
    return found


@mistake(CRON, "backup-.*-schedule", "spec")
def cron_job_without_a_digest(found: Props) -> Props:
    """In a protected stack."""
    for each in containers(found["spec"]["jobTemplate"]["spec"]):
        each["image"] = "registry.example.com/ml/copier:1.0"
    return found


@mistake(JOB, "weights-llama-3-8b-copy", "spec")
def image_without_a_version(found: Props) -> Props:
    for each in containers(found["spec"]):
        each["image"] = "public.ecr.aws/aws-cli/aws-cli"
    return found


@mistake(RELEASE, "monitoring-stack-chart-release", "values")
def definitions_of_two_owners(found: Props) -> Props:
    found["values"]["crds"] = {"enabled": True}
    return found
