"""What is deleted before a destroy, since somebody sent it: not what programs and controllers made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rehearsal.engine.sent import sent
from rehearsal.kube.client import Kube


def thing(kind: str, name: str, manager: str, owner: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """As the API server keeps it, made or changed by one field manager."""
    meta: dict[str, Any] = {"name": name, "namespace": "training", "uid": f"{kind} {name}"}
    meta["managedFields"] = [{"manager": manager, "operation": "Update"}]
    if owner is not None:
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
        meta["ownerReferences"] = [{**reference, "controller": True}]
    return {"apiVersion": "v1" if kind == "Pod" else "batch/v1", "kind": kind, "metadata": meta}


@dataclass(frozen=True)
class Held:
    """A cluster of these objects."""

    objects: tuple[Mapping[str, Any], ...]

    def list(self, _: str, kind: str) -> list[dict[str, Any]]:
        return [{"metadata": each["metadata"]} for each in self.objects if each["kind"] == kind]

    def get(self, _: str, kind: str, name: str, __: str) -> Mapping[str, Any] | None:
        return next((each for each in self.objects if (each["kind"], each["metadata"]["name"]) == (kind, name)), None)


def found(*objects: Mapping[str, Any]) -> list[str]:
    return [each["metadata"]["name"] for each in sent(cast(Kube, Held(objects)))]


def test_a_job_that_somebody_created_is_found_once_by_its_pods() -> None:
    job = thing("Job", "try", "kubectl-create")
    pods = [thing("Pod", f"try-{number}", "kube-controller-manager", job) for number in range(2)]
    assert found(job, *pods, thing("Pod", "alone", "kubectl-run")) == ["try", "alone"]


def test_what_a_program_or_a_controller_made_is_left_to_it() -> None:
    stacks, charts = thing("Job", "run", "pulumi-kubernetes-1a2b"), thing("Job", "hook", "helm")
    touched = thing("Job", "scaled", "pulumi-kubernetes-1a2b")
    touched["metadata"]["managedFields"].append({"manager": "kubectl-scale", "operation": "Update"})
    jobs = (stacks, charts, touched, thing("Job", "operated", "training-operator"))
    assert found(*jobs, *(thing("Pod", f"{each['metadata']['name']}-0", "x", each) for each in jobs)) == []


def test_a_pod_whose_owner_is_gone_goes_by_itself() -> None:
    assert found(thing("Pod", "try-0", "kubectl-create", thing("Job", "try", "kubectl-create"))) == []
