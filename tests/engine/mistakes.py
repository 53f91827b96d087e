"""Mistakes of wrong programs, each a function of what a right one would register.

A copied program imports this module in its `__main__` and says which it makes (`wrong.make`). Nothing here knows the
program's source, but for an `argument`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .making import Props, argument, mistake

POLICIES = "arn:aws:eks::aws:cluster-access-policy"
TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"
RUN, JOB = "kubernetes:kubeflow.org/v1:PyTorchJob", "kubernetes:batch/v1:Job"
DEPLOYMENT, RELEASE = "kubernetes:apps/v1:Deployment", "kubernetes:helm.sh/v3:Release"


def replicas(spec: Mapping[str, Any]) -> list[Props]:
    """The pods' specs of a PyTorchJob."""
    return [each["template"]["spec"] for each in spec["pytorchReplicaSpecs"].values()]


def containers(spec: Mapping[str, Any]) -> list[Props]:
    """The containers of a Job or a Deployment."""
    found: list[Props] = spec["template"]["spec"]["containers"]
    return found


# -- access


@mistake("aws:eks/accessEntry:AccessEntry", "cluster-deployer", "principalArn")
def entry_of_another_role(found: Props) -> Props:
    """Whoever deploys has none: the entry names the control plane's own role."""
    account = found["principalArn"].split(":")[4]
    return {"principalArn": f"arn:aws:iam::{account}:role/gpucluster-dev-control-plane"}


@mistake("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", "cluster-deployer-policy", "policyArn")
def entry_that_may_only_look(_: Props) -> Props:
    return {"policyArn": f"{POLICIES}/AmazonEKSViewPolicy"}


# -- nodes: each in the pool that carries its name


@mistake(TEMPLATE, "pool-fabricless-template", "networkInterfaces")
def efa_interfaces_left_out(found: Props) -> Props:
    return {"networkInterfaces": found["networkInterfaces"][:1]}


@mistake(TEMPLATE, "pool-outside-template", "networkInterfaces")
def cluster_group_left_out(found: Props) -> Props:
    """The EFA group remains, which is no way to the cluster."""
    return {
        "networkInterfaces": [
            {**each, "securityGroups": each["securityGroups"][1:]} for each in found["networkInterfaces"]
        ]
    }


@mistake(GROUP, "pool-empty-nodes", "scalingConfig")
def nothing_desired(found: Props) -> Props:
    return {"scalingConfig": {**found["scalingConfig"], "minSize": 0, "desiredSize": 0}}


@mistake(GROUP, "pool-graphics-nodes", "amiType")
def image_without_driver(_: Props) -> Props:
    return {"amiType": "AL2023_x86_64_STANDARD"}


@mistake(GROUP, "pool-mislabelled-nodes", "taints")
def taint_that_nobody_tolerates(found: Props) -> Props:
    return {"taints": [*found["taints"], {"key": "example.com/reserved", "value": "true", "effect": "NO_SCHEDULE"}]}


# -- what runs on the nodes


@mistake(RELEASE, "efa-plugin-release", "values")
def efa_plugin_tolerates_nothing(found: Props) -> Props:
    """But what it ships with."""
    return {"values": {**found["values"], "tolerations": found["values"]["tolerations"][:1]}}


@mistake("aws:eks/addon:Addon", "service-addons-aws-fsx-csi-driver", "addonName", "addonVersion")
def driver_of_another_file_system(_: Props) -> Props:
    return {"addonName": "aws-efs-csi-driver", "addonVersion": None}


@mistake(DEPLOYMENT, "training-operator-deployment", "spec")
def operator_without_gangs(found: Props) -> Props:
    for each in containers(found["spec"]):
        each["args"] = [word for word in each["args"] if not word.startswith("--gang-scheduler-name")]
    return found


@argument
def no_gpu_operator() -> None:
    """Nobody installs it, so nobody waits for it: the devices are those of a platform without GPU pools."""
    from stacks import devices

    whole = devices.deploy_devices

    devices.deploy_devices = lambda plan, platform, *rest: {
        **{name: [] for name in platform.pools},
        **whole(plan, replace(platform, pools={}), *rest),
    }


# -- workloads: each in the run or service that carries its name


@mistake(RUN, "run-mislabelled-job", "spec")
def product_that_no_gpu_has(found: Props) -> Props:
    for pod in replicas(found["spec"]):
        pod["nodeSelector"]["nvidia.com/gpu.product"] = "NVIDIA-A10G-24GB"
    return found


@mistake(RUN, "run-untolerating-job", "spec")
def tolerates_nothing(found: Props) -> Props:
    for pod in replicas(found["spec"]):
        pod["tolerations"] = []
    return found


@mistake(RUN, "run-unclaimed-job", "spec")
def claim_of_an_unknown_class(found: Props) -> Props:
    """Checkpoints go to a volume of the pod's own, of a class that was on another cluster."""
    claim = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "lustre",
        "resources": {"requests": {"storage": "100Gi"}},
    }
    for pod in replicas(found["spec"]):
        pod["volumes"] = [
            {"name": each["name"], "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
            if each["name"] == "checkpoints"
            else each
            for each in pod["volumes"]
        ]
    return found


@mistake(DEPLOYMENT, "service-tokenless-deployment", "spec", seconds=15)
def secret_that_nobody_makes(found: Props) -> Props:
    """Watched with less than a person's patience."""
    found["spec"]["progressDeadlineSeconds"] = 15
    server = containers(found["spec"])[0]
    server["env"].append({"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "forgotten", "key": "token"}}})
    return found


@mistake(DEPLOYMENT, "service-wide-deployment", "spec", seconds=15)
def more_gpus_than_the_pod_has(found: Props) -> Props:
    """Watched with less than a person's patience."""
    found["spec"]["progressDeadlineSeconds"] = 15
    for each in containers(found["spec"]):
        each["command"] = [re.sub("(--tensor-parallel-size)=.*", r"\1=2", word) for word in each["command"]]
    return found


@mistake("kubernetes:core/v1:Service", "service-deaf-service", "spec")
def port_where_nobody_listens(found: Props) -> Props:
    for each in found["spec"]["ports"]:
        each["targetPort"] = 8080
    return found


@mistake(JOB, "weights-weightless-copy", "spec")
def weights_that_are_not_there(found: Props) -> Props:
    text = json.dumps(found["spec"])
    return {"spec": json.loads(re.sub(r"s3://[\w./-]*[\w-]", r"\g<0>/lost", text))}


# -- a person's patience, which a test has less of


@mistake(JOB, "weights-.*-copy", "spec", seconds=15)
def short_wait_for_weights(found: Props) -> Props:
    """All copies at once, so that each has its fifteen seconds: they ask for little of the two system nodes."""
    found["spec"]["activeDeadlineSeconds"] = 15
    for each in containers(found["spec"]):
        each["resources"]["requests"]["cpu"] = "50m"
    return found


@mistake(JOB, "weights-.*-copy", "spec")
def one_try_for_weights(found: Props) -> Props:
    return {"spec": {**found["spec"], "backoffLimit": 0}}


@mistake(JOB, "gpu-readiness-wait(-first)?", "spec", seconds=15)
def short_wait_for_gpus(found: Props) -> Props:
    found["spec"]["activeDeadlineSeconds"] = 15
    for each in containers(found["spec"]):
        each["args"] = ["--timeout=4s" if word.startswith("--timeout=") else word for word in each.get("args") or []]
    return found


@mistake(JOB, "gpu-checks-.*-(count|smoke)", "metadata", "spec", seconds=15)
def checks_that_nobody_waits_for(found: Props) -> Props:
    """What the checks of a pool would keep back comes all the same, and shows what it lacks by itself.

    Nobody waits for their end either, and the Job that replaces one is refused until that is gone: before its pods.
    """
    told = {"pulumi.com/skipAwait": "true", "pulumi.com/deletionPropagationPolicy": "background"}
    found["metadata"]["annotations"] |= told
    return short_wait_for_gpus.change(found)
