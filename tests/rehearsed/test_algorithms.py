"""The program's Experiments before Katib's own algorithms, and metrics in its own database (R02, R05)."""

import importlib.util
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import json_format

from components.kubeflow.experiment import Experiment, Range
from components.kubeflow.katib_config import SUGGESTIONS
from components.kubeflow.trial_database import USER
from rehearsal import toolchain
from rehearsal.images.katib import asking, programs
from rehearsal.images.postgresql import run as postgresql
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Program
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.test_tracking_images import SERVICES, Pods
from rehearsal.toolchain.manifests import tree
from tests.components.samples import built
from tests.components.samples.kubeflow import experiment_args

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("katib")]
SECONDS, PASSWORD = 300, "word"
FLOATS = Range(name="learning-rate", kind="double", low="1e-05", high="0.001")
STEPPED = Range(name="learning-rate", kind="double", low="0.1", high="0.3", step="0.1")
STEPS = Range(name="steps", kind="int", low="1", high="27")
WORDS = Range(name="schedule", kind="categorical", listed=("cosine", "linear"))
HYPERBAND = (("r_l", "27"), ("resource_name", "steps"), ("eta", "3"))
TAKEN: Mapping[str, dict[str, Any]] = {
    "random": {"parameters": [FLOATS, STEPS, WORDS]},
    "tpe": {"parameters": [FLOATS, STEPS, WORDS]},
    "multivariate-tpe": {"parameters": [FLOATS, STEPS, WORDS]},
    "bayesianoptimization": {"parameters": [FLOATS, STEPS, WORDS]},
    "sobol": {"parameters": [FLOATS, STEPS, WORDS]},
    "cmaes": {"parameters": [FLOATS, STEPS]},
    "grid": {"parameters": [STEPPED, WORDS]},
    "hyperband": {"parameters": [FLOATS, STEPS], "settings": HYPERBAND, "parallel": 27, "most": 40},
}
REFUSED: Mapping[str, tuple[dict[str, Any], str]] = {
    "cmaes": ({"parameters": [FLOATS, WORDS]}, "only supports two or more dimensional continuous search space"),
    "grid": ({"parameters": [STEPPED], "most": 4}, r"Max Trial Count: 4 > all possible search combinations: 3"),
    "hyperband": (
        {"parameters": [FLOATS, STEPS], "settings": HYPERBAND},
        "parallelTrialCount must be not less than 27",
    ),
}


class World(Pods):
    """Katib's images as containers, and the vendor's messages."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.world.tools = toolchain.ensure(["katib"])
        path = tree("katib", "cmd", "pkg") / "pkg" / "apis" / "manager" / "v1beta1" / "python" / "api_pb2.py"
        spec = importlib.util.spec_from_file_location("api_pb2", path)
        assert spec
        assert spec.loader
        self.api = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.api)

    def start(self, pod: str, image: str, program: Any, port: int, **env: str) -> str:
        """Where the process of an image answers."""
        begun = self.run(pod, _Image(image, program), [f"./{image}"], env)
        until(lambda: begun.listens(port, 0.0), SECONDS, f"{image} answers")
        host, local = self.world.backends.find("n", pod, port)
        return f"{host}:{local}"

    def algorithm(self, name: str) -> str:
        """Where a service answers that no experiment has asked: each has one of its own. The last one is stopped."""
        for each in self.begun[-1:]:
            each.stop()
        return self.start(name, SUGGESTIONS[name], programs.algorithm, programs.ALGORITHM)

    def asked(self, address: str, method: str, message: Any, answer: str = "") -> Any:
        with grpc.insecure_channel(address) as channel:
            call = channel.unary_unary(
                f"/api.v1.beta1.{method}",
                request_serializer=lambda each: each.SerializeToString(),
                response_deserializer=getattr(self.api, answer).FromString if answer else None,
            )
            return call(message, timeout=60)

    def experiment(self, algorithm: str, **changes: Any) -> Any:
        """The component's Experiment in the vendor's message (suggestionclient.go, ConvertExperiment)."""
        asked = {"algorithm": algorithm, "most": 6, **changes}
        graph = built(lambda opts: Experiment("sample", experiment_args(**asked), opts))
        spec = graph.one("sample-experiment").inputs["spec"]
        parameters = [{**each, "parameterType": each["parameterType"].upper()} for each in spec["parameters"]]
        for each in parameters:
            space = each["feasibleSpace"]
            if "distribution" in space:
                words = re.sub(r"(?<!^)(?=[A-Z])", "_", space["distribution"]).upper()
                each["feasibleSpace"] = {**space, "distribution": words}
        told = {
            **{key: spec[key] for key in ("algorithm", "parallelTrialCount", "maxTrialCount")},
            "objective": {"type": "MINIMIZE", "objectiveMetricName": spec["objective"]["objectiveMetricName"]},
            "parameterSpecs": {"parameters": parameters},
        }
        return json_format.ParseDict({"name": "rates", "spec": told}, self.api.Experiment())


class _Image:
    """An image's behaviour, with the image that the container names."""

    def __init__(self, image: str, program: Any) -> None:
        self._image, self._program = image, program

    def run(self, launch: Any) -> Program:
        launch.spec["image"] = f"ghcr.io/kubeflow/katib/{self._image}:v0"
        started: Program = self._program(launch)
        return started


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("katib"))
    yield made
    made.close()


def test_every_algorithm_of_the_settings_is_tried() -> None:
    assert set(TAKEN) == set(SUGGESTIONS)


@pytest.mark.parametrize("algorithm", sorted(TAKEN))
def test_an_algorithm_takes_the_experiment_that_is_planned_for_it(pods: World, algorithm: str) -> None:
    made = pods.experiment(algorithm, **TAKEN[algorithm])
    where, count = pods.algorithm(algorithm), TAKEN[algorithm].get("parallel", 2)
    pods.asked(
        where, "Suggestion/ValidateAlgorithmSettings", pods.api.ValidateAlgorithmSettingsRequest(experiment=made)
    )
    asked = pods.api.GetSuggestionsRequest(experiment=made, current_request_number=count, total_request_number=count)
    reply = pods.asked(where, "Suggestion/GetSuggestions", asked, "GetSuggestionsReply")
    assert len(reply.parameter_assignments) == count
    for each in reply.parameter_assignments:
        values = {assignment.name: assignment.value for assignment in each.assignments}
        for parameter in TAKEN[algorithm]["parameters"]:
            value = values[parameter.name]
            if parameter.listed:
                assert value in parameter.listed
            else:
                assert float(parameter.low) - 1e-9 <= float(value) <= float(parameter.high) + 1e-9


@pytest.mark.parametrize("algorithm", sorted(REFUSED))
def test_what_the_planner_refuses_the_algorithm_refuses_too(pods: World, algorithm: str) -> None:
    changes, words = REFUSED[algorithm]
    message = pods.api.ValidateAlgorithmSettingsRequest(experiment=pods.experiment(algorithm, **changes))
    with pytest.raises(grpc.RpcError, match=words):
        pods.asked(pods.algorithm(algorithm), "Suggestion/ValidateAlgorithmSettings", message)


def test_metrics_come_to_postgresql_and_back_in_order(pods: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the collector tells them, through the cluster's network."""
    monkeypatch.setitem(SERVICES, "katib-postgres", ("katib-postgres", 5432))
    monkeypatch.setitem(SERVICES, "katib-db-manager", ("katib-db-manager", programs.MANAGER))
    made = {"POSTGRES_USER": USER, "POSTGRES_DB": USER, "PGDATA": "/data/pgdata", "POSTGRES_PASSWORD": PASSWORD}
    server = pods.run("katib-postgres", _Image("postgres", postgresql), [], made, "volume")
    pods.ready(server)
    told = {"DB_NAME": "postgres", "DB_PASSWORD": PASSWORD}
    assert isinstance(server, RealProcess)
    where = pods.start("katib-db-manager", "katib-db-manager", programs.manager, programs.MANAGER, **told)
    log = [("loss", "2.5"), ("loss", "2.25"), ("loss", "2.125")]
    asking.report(pods.proxy.url, "katib-db-manager.n:6789", "rates-1", log)
    asked = pods.api.GetObservationLogRequest(trial_name="rates-1", metric_name="loss")
    reply = pods.asked(where, "DBManager/GetObservationLog", asked, "GetObservationLogReply")
    assert [(each.metric.name, each.metric.value) for each in reply.observation_log.metric_logs] == log
