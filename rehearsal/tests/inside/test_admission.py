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


@pytest.mark.parametrize(
    ("asked", "others", "reason", "said"),
    [
        (asking(cpu="3"), [asking(cpu="2")], "OutOfcpu", "requested: 3000, used: 2000, capacity: 4000"),
        (asking(gpu="1"), [asking(gpu="1")], "UnexpectedAdmissionError", "Requested: 1, Available: 0"),
        (asking(**{"vpc.amazonaws.com/efa": "1"}), [], "UnexpectedAdmissionError", ""),
        (pod(), [pod()] * 10, "OutOfpods", ""),
        (pod(nodeSelector={"pool": "other"}), [], "NodeAffinity", ""),
    ],
    ids=["cpu that others left", "a taken device", "a device the node never had", "a full node", "another pool's pod"],
)
def test_what_does_not_fit_is_refused(asked: Any, others: list[Any], reason: str, said: str) -> None:
    refusal = admission.refusal(asked, NODE, [admission.requests(each) for each in others])
    assert refusal is not None
    assert refusal.reason == reason
    assert said in refusal.message


def test_init_containers_count_by_the_largest_and_sidecars_add_up() -> None:
    big = {"name": "i", "resources": {"requests": {"cpu": "3"}}}
    side = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    main = {"name": "m", "resources": {"requests": {"cpu": "1"}}}
    assert admission.requests(pod(initContainers=[big], containers=[main]))["cpu"] == 3
    assert admission.requests(pod(initContainers=[side, big], containers=[main]))["cpu"] == 3
    assert admission.requests(pod(initContainers=[side], containers=[main, main]))["cpu"] == 3
