"""Which pods a kubelet takes."""

from fractions import Fraction
from typing import Any

import pytest

from rehearsal.kube import quantities
from rehearsal.kubelet import admission
from rehearsal.tests.inside.objects import pod

NODE = {
    "metadata": {"labels": {"pool": "train"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "1"}},
}


def asking(**requests: str) -> dict[str, Any]:
    named = {key.replace("gpu", "nvidia.com/gpu"): value for key, value in requests.items()}
    return pod(containers=[{"name": "main", "image": "a:1", "resources": {"requests": named}}])


@pytest.mark.parametrize(("text", "value"), [("500m", Fraction(1, 2)), ("2Gi", 2**31), ("1e3", 1000), (8, 8)])
def test_quantities(text: str | int, value: Fraction | int) -> None:
    assert quantities.parse(text) == value


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="7GiB"):
        quantities.parse("7GiB")


def test_a_pod_that_fits_is_admitted() -> None:
    assert admission.refusal(asking(cpu="3", gpu="1"), NODE, []) is None


def test_cpu_beyond_what_others_left_is_out_of_cpu() -> None:
    refusal = admission.refusal(asking(cpu="3"), NODE, [admission.requests(asking(cpu="2"))])
    assert refusal is not None
    assert refusal.reason == "OutOfcpu"
    assert "requested: 3000, used: 2000, capacity: 4000" in refusal.message


def test_a_taken_device_is_an_unexpected_admission_error() -> None:
    refusal = admission.refusal(asking(gpu="1"), NODE, [admission.requests(asking(gpu="1"))])
    assert refusal is not None
    assert refusal.reason == "UnexpectedAdmissionError"
    assert "Requested: 1, Available: 0" in refusal.message


def test_a_device_the_node_never_had_is_refused() -> None:
    assert admission.refusal(asking(**{"vpc.amazonaws.com/efa": "1"}), NODE, []) is not None


def test_a_full_node_takes_no_more_pods() -> None:
    refusal = admission.refusal(pod(), NODE, [admission.requests(pod())] * 10)
    assert refusal is not None
    assert refusal.reason == "OutOfpods"


def test_init_containers_count_by_the_largest_and_sidecars_add_up() -> None:
    big = {"name": "i", "resources": {"requests": {"cpu": "3"}}}
    side = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    main = {"name": "m", "resources": {"requests": {"cpu": "1"}}}
    assert admission.requests(pod(initContainers=[big], containers=[main]))["cpu"] == 3
    assert admission.requests(pod(initContainers=[side, big], containers=[main]))["cpu"] == 3
    assert admission.requests(pod(initContainers=[side], containers=[main, main]))["cpu"] == 3


def test_a_pod_named_onto_a_node_must_still_match_it() -> None:
    refusal = admission.refusal(pod(nodeSelector={"pool": "other"}), NODE, [])
    assert refusal is not None
    assert refusal.reason == "NodeAffinity"
