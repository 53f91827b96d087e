"""One look over a large account takes less than 30 s of API calls, by a simulation at AWS' rates and page sizes."""

from tests.bench.passing import LATENCY, Simulated, Size, passed

SECONDS = 30


def test_a_look_over_2048_gpus() -> None:
    """Found is all there is: instances, volumes, clusters and node groups, file systems, what controllers made."""
    size = Size()
    account, found = passed(size)
    assert size.nodes == 320
    per_cluster = size.clusters * (1 + size.groups + 3 + 3)
    made = size.held + size.endpoints + size.balancers + size.classic + size.groups_of_balancers + size.interfaces
    assert found == per_cluster + size.nodes * (1 + size.volumes_per_node) + size.systems + size.homes + made
    assert account.seconds < SECONDS
    assert account.requests["ec2.describe_instances"] == 1


def test_twice_the_nodes_cost_a_few_pages_more() -> None:
    small, _ = passed(Size())
    large, _ = passed(Size(gpus=4096))
    assert 0 < large.seconds - small.seconds <= 4 * LATENCY


def test_the_simulation_knows_rates_and_would_see_a_look_that_is_too_long() -> None:
    assert passed(Size(balancers=4000))[0].seconds > SECONDS
    account = Simulated(Size())
    for _ in range(2000):
        account._ask("fsx", "describe_file_systems")
    assert account.seconds > 2000 * LATENCY - 1, "a quarter of a second is slower than ten a second"


def test_more_requests_at_once_than_a_bucket_holds_wait_for_tokens() -> None:
    account = Simulated(Size())
    account._buckets["eks.describe_cluster"] = (0.0, 0.0)
    account.call("eks", "describe_cluster", name="gpucluster-0")
    assert account.seconds == 0.1 + LATENCY
