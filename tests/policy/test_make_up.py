"""`make up` of a program with a mistake ends with 1, the reason and the remedy, before anything is started.

Each mistake is a resource transform in the `__main__` of a copied program. Its first command, `python -m tests.graph`,
runs here in one process; that `make up` begins with it, and ends where it does, is held by tests/test_make.py, and once
here by the real one.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from policy import RULES
from tests.engine.making import Mistake
from tests.engine.trees import ROOT, Tree
from tests.graph import __main__ as command
from tests.graph import stackfiles
from tests.policy import mistakes

pytestmark = pytest.mark.slow

SEEN = {
    "block_in_a_placement_group": ("prod", "blocks_are_bought_whole", "into a placement group"),
    "fabric_closed_on_its_way_out": ("dev", "efa_open_to_itself", "none of which allows all traffic out to itself"),
    "fabric_open_to_addresses_alone": ("dev", "efa_open_to_itself", "none of which allows all traffic in from itself"),
    "file_servers_cannot_call_back": ("dev", "lustre_reaches_its_nodes", "TCP 1018-1023 from"),
    "first_interface_without_an_address": ("prod", "primary_interface", "no address"),
    "image_that_reads_other_user_data": ("prod", "ami_takes_user_data", "not TOML"),
    "driver_beside_that_of_the_image": ("dev", "gpus_have_one_owner", "installs its driver on pool-training-nodes"),
    "one_numa_node_for_a_whole_machine": ("prod", "pods_fit_a_numa_node", "a NUMA node of p5.48xlarge has 4"),
    "nobody_resolves_names": ("dev", "addons_are_there", "has no add-on coredns"),
    "nobody_hands_out_credentials": ("dev", "addons_are_there", "has no add-on eks-pod-identity-agent"),
    "second_exporter_of_gpus": ("dev", "one_owner_per_daemon", "brings the DCGM exporter, which"),
    "operator_without_gangs": ("dev", "operators_form_gangs", "runs without --gang-scheduler-name"),
    "trainer_of_another_name": ("dev", "trainers_named", "has the containers trainer"),
    "elastic_beside_a_master": ("dev", "elastic_has_no_master", "is elastic and has a Master"),
    "address_of_ones_own": ("dev", "operators_own_their_variables", "sets MASTER_ADDR"),
    "collectives_over_tcp": ("dev", "collectives_take_the_fast_path", "FI_PROVIDER"),
    "transport_switched_off": ("prod", "collectives_take_the_fast_path", "NCCL_P2P_DISABLE"),
    "account_without_its_role": ("dev", "associations_meet_their_accounts", "trainer"),
    "role_for_another_bucket": ("dev", "pods_may_do_what_they_call", "acme-model-weights"),
    "role_that_lists_and_reads_nothing": ("dev", "pods_may_do_what_they_call", "s3:GetObject"),
    "killed_while_it_loads": ("dev", "servers_may_load", "killed by the livenessProbe"),
    "second_autoscaler_of_a_service": ("dev", "one_autoscaler_per_target", "scales already"),
    "metric_by_the_name_of_its_series": ("dev", "adapters_know_the_metric", "vllm:num_requests_waiting"),
    "metric_of_an_interface_that_nobody_serves": ("dev", "metrics_are_served", "uses queue (External), which nothing"),
    "nobody_serves_the_metric": ("dev", "metrics_are_served", "which nothing here serves"),
    "key_among_the_words": ("dev", "no_secret_in_words", "has the secret api-key in clear text in its words"),
    "file_system_for_one_node": ("dev", "modes_known_to_driver", "ReadWriteOnce"),
    "names_over_udp_alone": ("dev", "policies_leave_dns", "without TCP port 53"),
    "one_port_between_the_pods_of_a_run": ("dev", "policies_leave_the_gang", "the pods of its own job on all ports"),
    "image_that_moves_under_a_cron_job": ("dev", "images_pinned", "whose tag moves"),
    "cron_job_without_a_digest": ("prod", "images_pinned", "without a digest in a protected stack"),
    "image_without_a_version": ("dev", "images_pinned", "public.ecr.aws/aws-cli/aws-cli, whose tag moves"),
    "definitions_of_two_owners": ("dev", "one_owner_per_definition", "brings definitions of monitoring.coreos.com"),
}
"""By mistake: the stack that it is made in, the rule that sees it, and words of the reason."""

BY_ID = {rule.id: rule for rule in RULES}


def test_every_mistake_is_tried() -> None:
    made = [each for each in vars(mistakes).values() if isinstance(each, Mistake)]
    assert SEEN.keys() == {each.change.__name__ for each in made}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The program, whose stack dev has a second service."""
    tree = Tree.copy(tmp_path_factory.mktemp("wrong") / "tree")
    file = tree.stack("dev")
    (service,) = file.get("gpucluster:serving.services")
    file.set("gpucluster:serving.services", [service, {**service, "name": "mistral"}])
    file.set("gpucluster:pools[2].count", 4).set("gpucluster:budget.maxHourlyUsd", 100)
    return tree


@pytest.fixture
def program(copied: Tree, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    """The copied program in the place of the program, for a change of its `__main__`."""
    for module in (command, stackfiles):
        monkeypatch.setattr(module, "ROOT", copied.root)
    right = copied.text("__main__.py")
    yield copied
    copied.write("__main__.py", right)


def make(tree: Tree, name: str) -> None:
    first = f"from tests.engine import making\nfrom tests.policy import mistakes\n\nmaking.commit({name!r})\n\n"
    tree.write("__main__.py", first + (ROOT / "__main__.py").read_text())


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_the_copied_program_goes_on(stack: str, program: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([stack]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", SEEN)
def test_a_mistake_ends_it_with_its_reason(name: str, program: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    stack, rule, words = SEEN[name]
    make(program, name)
    assert command.main([stack]) == 1
    said = capsys.readouterr().out
    _, _, of_rule = said.partition(f"\n{rule}: ")
    reason, _, remedy = of_rule.partition("\n  remedy: ")
    assert words in reason, said
    assert remedy.startswith(BY_ID[rule].remedy)


def test_the_real_one_starts_nothing(copied: Tree, tmp_path: Path) -> None:
    make(copied, "trainer_of_another_name")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "-o", "setup", "up", "STACK=dev"],
        cwd=copied.root,
        env=kept | {"GPUCLUSTER_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert re.search(r"make: \*\*\* \[Makefile:\d+: up\] Error 1", done.stderr), done.stderr
    assert f"\ntrainers_named: {BY_ID['trainers_named'].holds}\n" in done.stdout
    assert f"  remedy: {BY_ID['trainers_named'].remedy}\n" in done.stdout
    assert not list(tmp_path.iterdir())
