"""The training operator's objects against its vendor's manifests of the same tag, from its Go module (LF15)."""

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogue import versions
from components.platform.training_operator import CRD, crd_url
from rehearsal import places
from rehearsal.toolchain import versions as built
from rehearsal.toolchain.families import FAMILIES
from tests.components.samples import SAMPLES
from tests.components.samples import built as registered
from tests.graph.harness import Recorded

from .vendors import rights

BASE = "manifests/base"
OTHER_JOBS = ("jax", "mpi", "paddle", "tf", "xgboost")
LEFT_OUT = {
    ("", "configmaps"): "MPI's host file",
    ("", "pods/exec"): "MPI's launcher",
    ("", "serviceaccounts"): "MPI's launcher",
    ("rbac.authorization.k8s.io", "rolebindings"): "MPI's launcher",
    ("rbac.authorization.k8s.io", "roles"): "MPI's launcher",
    ("scheduling.x-k8s.io", "podgroups"): "another scheduler's gangs",
}
"""Rights of the vendor's role that PyTorchJobs under Volcano do not need, and what for."""


@cache
def module() -> Path | None:
    """The module's directory, where Go's cache or the rehearsal's own has it."""
    own = places.cache() / "go" / "path"
    caches = (os.environ.get("GOMODCACHE"), *(each / "pkg" / "mod" for each in (Path.home() / "go", own)))
    name = f"{FAMILIES['training'].module}@v{built.TRAINING_OPERATOR}"
    return next((found for each in caches if each and (found := Path(each) / name).is_dir()), None)


@pytest.fixture
def base() -> Path:
    found = module()
    if found is None:
        pytest.skip(f"training-operator v{built.TRAINING_OPERATOR} is not in Go's module cache: `make toolchain`")
    return found / BASE


def documents(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


@cache
def ours() -> Recorded:
    return registered(SAMPLES["operator"])


def one(kind: str) -> dict[str, Any]:
    (found,) = [each for each in ours().of_type(kind) if "crds" not in each.name]
    return dict(found.inputs)


def test_the_crd_has_the_hash_that_is_checked_before_it_is_applied_lf15(base: Path) -> None:
    file = base / "crds" / crd_url(versions.TRAINING_OPERATOR).rpartition("/")[2]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == versions.TRAINING_OPERATOR_CRD_SHA256
    (definition,) = documents(file)
    assert definition["metadata"]["name"] == CRD


def test_no_right_is_ours_alone_and_what_is_left_out_serves_other_jobs_lf15(base: Path) -> None:
    """Leases and the certificate's Secret are asked for in the operator's own namespace."""
    (role,) = [each for each in documents(base / "rbac" / "role.yaml") if each["kind"] == "ClusterRole"]
    theirs = rights(role["rules"])
    mine = rights(one("ClusterRole")["rules"])
    local = {right for each in ours().of_type("Role") for right in rights(each.inputs["rules"])}
    leases = {right for right in local if right[1] == "leases"}
    assert (mine | local) - theirs - leases == set()
    missing = {right for right in theirs - mine - local if not right[1].startswith(OTHER_JOBS)}
    assert {(group, resource) for group, resource, _ in missing} == set(LEFT_OUT)


def test_deployment_and_service_are_the_vendors_but_for_what_is_said_lf15(base: Path) -> None:
    """Names, command, ports, probes, environment and mounts; ours adds two flags, limits, and takes no more rights."""
    (theirs,) = documents(base / "deployment.yaml")
    mine = one("Deployment")
    assert mine["metadata"]["name"] == theirs["metadata"]["name"]
    assert mine["spec"]["selector"] == theirs["spec"]["selector"]
    (was,), (here,) = (each["spec"]["template"]["spec"]["containers"] for each in (theirs, mine))
    assert (here["name"], here["command"]) == (was["name"], was["command"])
    assert {each["containerPort"] for each in here["ports"]} == {each["containerPort"] for each in was["ports"]}
    assert {each["name"]: each["valueFrom"] for each in here["env"]} == {
        each["name"]: each["valueFrom"] for each in was["env"]
    }
    assert here["securityContext"]["allowPrivilegeEscalation"] is was["securityContext"]["allowPrivilegeEscalation"]
    for probe in ("livenessProbe", "readinessProbe"):
        assert here[probe]["httpGet"] == was[probe]["httpGet"]
    (mount,), (expected,) = here["volumeMounts"], was["volumeMounts"]
    assert (mount["mountPath"], mount["readOnly"]) == (expected["mountPath"], expected["readOnly"])
    (volume,), (secret,) = (each["spec"]["template"]["spec"]["volumes"] for each in (mine, theirs))
    assert volume["secret"]["secretName"] == secret["secret"]["secretName"]
    (service,) = documents(base / "service.yaml")
    assert one("Service")["spec"]["selector"] == service["spec"]["selector"]
    assert {(each["port"], each["targetPort"]) for each in one("Service")["spec"]["ports"]} == {
        (each["port"], each["targetPort"]) for each in service["spec"]["ports"]
    }


def test_the_webhook_is_the_vendors_about_pytorchjobs_lf15(base: Path) -> None:
    (configuration,) = documents(base / "webhook" / "manifests.yaml")
    (theirs,) = [each for each in configuration["webhooks"] if "pytorchjob" in each["name"]]
    (mine,) = one("ValidatingWebhookConfiguration")["webhooks"]
    for key in ("name", "rules", "failurePolicy", "sideEffects", "admissionReviewVersions"):
        assert mine[key] == theirs[key], key
    assert mine["clientConfig"]["service"]["path"] == theirs["clientConfig"]["service"]["path"]


def test_the_image_is_what_the_tags_overlay_names_lf15(base: Path) -> None:
    overlay = yaml.safe_load((base.parent / "overlays" / "standalone" / "kustomization.yaml").read_text("utf-8"))
    (image,) = overlay["images"]
    assert f"{image.get('newName', image['name'])}:{image['newTag']}" == versions.TRAINING_OPERATOR_IMAGE


def test_every_flag_is_one_that_the_operator_has_lf15(base: Path) -> None:
    source = (base.parents[1] / "cmd" / "training-operator.v1" / "main.go").read_text("utf-8")
    (container,) = one("Deployment")["spec"]["template"]["spec"]["containers"]
    flags = [word.removeprefix("--").partition("=")[0] for word in container["args"]]
    assert flags
    assert [flag for flag in flags if f'"{flag}"' not in source] == []
