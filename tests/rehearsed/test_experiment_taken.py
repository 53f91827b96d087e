"""The program's Experiment through Katib's own webhooks, generator and collector, as they are played (R02, R05)."""

import json
from typing import Any

from catalogue.versions import KATIB_IMAGES
from components.kubeflow.experiment import REFERENCE_FORMAT
from components.kubeflow.katib_config import CollectorRoom, katib_config
from rehearsal.images.katib import hooks
from rehearsal.images.katib.algorithms import suggestions, wrong_with
from rehearsal.images.katib.experiments import trial_of
from rehearsal.images.katib.trials import job_status
from rehearsed import trials
from tests.components.samples import SAMPLES, built
from tests.stacks.platforms import deployed

CONFIG = json.loads(katib_config(KATIB_IMAGES, CollectorRoom(millicores=100, memory_mib=256)))


def experiment(spec: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": "rates", "namespace": "training", "uid": "u"}
    return {"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment", "metadata": meta, "spec": spec}


def of_the_sample() -> dict[str, Any]:
    return experiment(built(SAMPLES["experiment"]).one("sample-experiment").inputs["spec"])


def of_the_stack() -> dict[str, Any]:
    return experiment(deployed("fake").spec("experiment-rates-experiment"))


def test_the_webhooks_have_nothing_to_fill_in_and_nothing_to_refuse() -> None:
    """What they would fill in would stand in the cluster and in no preview."""
    for made in (of_the_sample(), of_the_stack()):
        assert hooks.with_defaults(made) == made
        assert hooks.wrong_with(made, CONFIG) == []
        assert wrong_with(made["spec"]["algorithm"]["algorithmName"], {}, made["spec"]) is None


def trial(made: dict[str, Any]) -> dict[str, Any]:
    (values,) = suggestions({"spec": made["spec"], "made": 0, "wanted": 1})
    return trial_of(made, {"name": "rates-bbbbbbbb", "parameterAssignments": values})


def test_a_trials_job_has_all_values_in_place_and_is_judged_by_its_conditions() -> None:
    for made in (of_the_sample(), of_the_stack()):
        found = trial(made)
        text = json.dumps(found["spec"]["runSpec"])
        assert "trialParameters" not in text
        assert "/rates-bbbbbbbb" in text
        ended = {"status": {"conditions": [{"type": "Succeeded", "status": "True", "message": "done"}]}}
        assert job_status(found, ended) == ("Succeeded", "done")


def test_the_first_ranks_shell_runs_the_words_that_the_other_ranks_have() -> None:
    """Quoted for the shell, and as they are elsewhere."""
    found = trial(of_the_sample())
    replicas = found["spec"]["runSpec"]["spec"]["pytorchReplicaSpecs"]
    template = replicas["Master"]["template"]
    labels = {**template["metadata"]["labels"], "training.kubeflow.org/job-role": "master"}
    pod = {**template, "metadata": {"name": "rates-bbbbbbbb-master-0", "labels": labels}}
    main, collector = hooks.with_collector(pod, found, CONFIG, "db:6789", "stop:6788")["spec"]["containers"]
    shell = trials.parse([*main["command"], *main["args"]])
    assert shell
    (worker,) = replicas["Worker"]["template"]["spec"]["containers"]
    assert list(shell.words) == [*worker["command"], *worker["args"]]
    assert "two words" in shell.words
    assert collector["args"][collector["args"].index("-f") + 1] == REFERENCE_FORMAT
    assert collector["resources"]["limits"] == {"cpu": "100m", "memory": "256Mi"}
    assert collector["securityContext"] == main["securityContext"]
