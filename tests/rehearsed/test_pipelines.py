"""Objects of Kubeflow Pipelines and Argo against the inventory of their vendor's set (env/platform-agnostic)."""

from functools import cache

import pytest

from catalogue import versions
from components.kubeflow.pipelines_crds import KINDS
from tests.components.samples import SAMPLES, built

from .vendors import Objects, inventory, registered, rights

SET = f"pipelines-{versions.PIPELINES}"
FIRST_VERSION = (
    "kubeflow-pipelines-cache",
    "kubeflow-pipelines-container-builder",
    "kubeflow-pipelines-metadata-writer",
    "kubeflow-pipelines-viewer",
    "ml-pipeline-viewer",
    "ml-pipeline-visualizationserver",
    "cache-",
    "metadata-writer",
)
"""What pipelines of version 1 have alone, or TensorBoards and visualisations: by the beginning of the name."""
OTHERS_IN_ITS_PLACE = {
    "seaweedfs": "the platform's object store",
    "mlpipeline-minio-artifact": "the platform's object store",
    "seaweedfs-pvc": "the platform's object store",
    "mysql-pv-claim": "in the StatefulSet's template",
    "pipeline-install-config": "variables that say their value",
    "metadata-grpc-configmap": "variables that say their value",
    "ml-pipeline-ui-configmap": "TensorBoards",
    "kubeflow-pipelines-public": "the version, for the SDK's pods of version 1",
    "workflow-controller": "PriorityClass: system-cluster-critical is there",
    "metadata-grpc-server": "ServiceAccount without a right: the pod has no token",
}
VARIABLES_LEFT_OUT = {
    "ml-pipeline": {
        *(f"DBCONFIG_{each}" for each in ("USER", "PASSWORD", "DBNAME", "HOST", "PORT")),
        *(f"DEFAULT_SECURITY_CONTEXT_{each}" for each in ("RUN_AS_USER", "RUN_AS_GROUP", "RUN_AS_NON_ROOT")),
        "DEFAULT_SECURITY_CONTEXT_HOST_USERS",
        "COMPILED_PIPELINE_SPEC_PATCH",
        "V1_ALLOWED_NAMESPACES",
    },
    "ml-pipeline-ui": {
        "VIEWER_TENSORBOARD_POD_TEMPLATE_SPEC_PATH",
        "MINIO_NAMESPACE",
        "MINIO_ACCESS_KEY",
        "MINIO_SECRET_KEY",
        "ARTIFACT_NAMESPACE_OWNERSHIP_MODE",
        "ARTIFACT_NAMESPACE_KEY_PREFIX",
        "CLUSTER_DOMAIN",
        "ARTIFACTS_SERVICE_PROXY_ENABLED",
    },
}
"""Relics of its first database, defaults, and what is of MinIO or TensorBoards."""
VARIABLES_OF_OURS = {
    "ml-pipeline": {"OBJECTSTORECONFIG_REGION", "OBJECTSTORECONFIG_PIPELINEPATH"},
    "ml-pipeline-ui": {"AWS_REGION"},
}


@cache
def mine() -> Objects:
    return registered(built(SAMPLES["pipelines"]))


def test_every_object_of_the_vendors_set_is_there_or_said_to_be_left_out() -> None:
    kinds = ("Deployment", "Service", "ConfigMap", "Secret", "ServiceAccount", "PriorityClass", "PersistentVolumeClaim")
    missing = {(kind, name) for kind, name in inventory(SET) if kind in kinds} - set(mine())
    unsaid = {
        (kind, name) for kind, name in missing if not name.startswith(FIRST_VERSION) and name not in OTHERS_IN_ITS_PLACE
    }
    assert unsaid == {("Deployment", "mysql"), ("ServiceAccount", "mysql")}  # a StatefulSet without an account here
    assert set(OTHERS_IN_ITS_PLACE) <= {name for _, name in missing}


def test_what_is_ours_alone_is_one_account_and_its_token() -> None:
    known = {name for _, name in inventory(SET)} | {"argo"}
    extra = {(kind, name) for kind, name in mine() if name not in known and kind != "CustomResourceDefinition"}
    assert {name for kind, name in extra if kind not in ("Role", "RoleBinding")} == {
        "pipeline-scripts",
        "pipeline-starter",
        "pipeline-starter-token",
    }


@pytest.mark.parametrize(
    ("account", "theirs"),
    [
        ("argo", "argo-role"),
        ("ml-pipeline", "ml-pipeline"),
        ("ml-pipeline-persistenceagent", "ml-pipeline-persistenceagent-role"),
        ("ml-pipeline-scheduledworkflow", "ml-pipeline-scheduledworkflow-role"),
        ("ml-pipeline-ui", "ml-pipeline-ui"),
        ("pipeline-runner", "pipeline-runner"),
    ],
)
def test_no_right_is_ours_alone(account: str, theirs: str) -> None:
    wanted = rights(inventory(SET)["Role", theirs]["rules"])
    asked = rights(mine()["Role", account]["rules"])
    assert asked, account
    assert {right for right in asked if right not in wanted and (*right[:2], "*") not in wanted} == set()


def test_steps_change_nothing_but_their_own_result() -> None:
    asked = rights(mine()["Role", "pipeline-runner"]["rules"])
    assert {right for right in asked if right[2] not in ("get", "list", "watch")} == {
        ("argoproj.io", "workflowtaskresults", "create"),
        ("argoproj.io", "workflowtaskresults", "patch"),
    }
    assert not any(resource == "secrets" for _, resource, _ in asked)
    for name in ("argo", "ml-pipeline", "ml-pipeline-ui"):
        assert not any(resource == "secrets" for _, resource, _ in rights(mine()["Role", name]["rules"])), name
    assert not [each for each in mine() if each[0].startswith("Cluster")]


@pytest.mark.parametrize(
    "name",
    [
        "ml-pipeline",
        "ml-pipeline-persistenceagent",
        "ml-pipeline-scheduledworkflow",
        "ml-pipeline-ui",
        "metadata-grpc-deployment",
        "metadata-envoy-deployment",
        "workflow-controller",
    ],
)
def test_deployments_are_the_vendors_but_for_what_is_said(name: str) -> None:
    was, here = inventory(SET)["Deployment", name], mine()["Deployment", name]["spec"]
    (one,), (other,) = was["pod"]["containers"], here["template"]["spec"]["containers"]
    assert one["name"] == other["name"]
    assert one.get("command") == other.get("command")
    images = {"argoexec:1": versions.ARGO_IMAGES["argoexec"]}
    assert [images.get(each, each) for each in other.get("args", [])] == one.get("args", [])
    ports = {each["containerPort"] for each in one.get("ports", [])} - {9901}
    assert {each["containerPort"] for each in other.get("ports", ())} == ports
    told = {each["name"] for each in other.get("env", ())}
    left, added = VARIABLES_LEFT_OUT.get(name, set()), VARIABLES_OF_OURS.get(name, set())
    assert left <= set(one["env"])
    assert told == (set(one["env"]) - left) | added
    confined = {key: value for key, value in one["securityContext"].items() if key != "runAsGroup"}
    assert confined.items() <= other["securityContext"].items()
    assert here["selector"]["matchLabels"].items() <= here["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("name", ["ml-pipeline", "ml-pipeline-ui", "metadata-grpc-service", "metadata-envoy-service"])
def test_services_are_found_by_the_vendors_names_and_ports(name: str) -> None:
    was, here = inventory(SET)["Service", name], mine()["Service", name]["spec"]
    assert {each["port"] for each in here["ports"]} == {each["port"] for each in was["ports"]}
    assert {each["port"]: each.get("targetPort", each["port"]) for each in was["ports"]} == {
        each["port"]: each["targetPort"] for each in here["ports"]
    }
    assert here["selector"].items() <= was["serviceSelector"].items()


def test_the_database_is_what_the_vendor_tests_with() -> None:
    (was,) = inventory(SET)["Deployment", "mysql"]["pod"]["containers"]
    (here,) = mine()["StatefulSet", "mysql"]["spec"]["template"]["spec"]["containers"]
    assert versions.MYSQL_IMAGE.rpartition("/")[2] == was["image"]
    assert here["args"][2:] == was["args"][2:]
    assert "MYSQL_ALLOW_EMPTY_PASSWORD" not in {each["name"] for each in here["env"]}


def test_definitions_are_the_vendors() -> None:
    found = {name: each for (_, name), each in inventory(f"{SET}-cluster").items()}
    for kind in KINDS:
        name = f"{kind.plural}.{kind.group}"
        here = mine()["CustomResourceDefinition", name]["spec"]
        assert [each["name"] for each in here["versions"]] == found[name]["versions"]
        assert (here["group"], here["scope"]) == (found[name]["group"], found[name]["scope"])
    left = {name for name, each in found.items() if each["kind"] == "CustomResourceDefinition"} - {
        f"{kind.plural}.{kind.group}" for kind in KINDS
    }
    assert left == {
        "applications.app.k8s.io",
        "clusterworkflowtemplates.argoproj.io",
        "viewers.kubeflow.org",
        "workfloweventbindings.argoproj.io",
    }


def test_images_are_those_of_the_vendors_set() -> None:
    theirs = {
        container["image"]
        for each in inventory(SET).values()
        if each["kind"] == "Deployment"
        for container in each["pod"]["containers"]
    }
    named = {*versions.PIPELINES_IMAGES.values(), versions.METADATA_IMAGE, versions.ARGO_IMAGES["workflow-controller"]}
    made_by_the_server = {versions.PIPELINES_IMAGES[each] for each in ("driver", "launcher")}
    assert named - theirs == made_by_the_server
