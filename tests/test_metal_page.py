"""What the page of own machines says is so: its targets exist, its secrets are those asked for, its fragments plan."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from rehearsed.machines import SECRETS, SERVERS
from tests.graph.stackfiles import ROOT, graph_of, stack_config
from tests.planner.stacks import metal_plan_of
from tests.stacks.ceph_stack import with_ceph
from tests.stacks.lustre_stack import with_lustre
from tests.stacks.test_metal_home import with_home
from tests.test_tutorial import fragments, text

PAGE = "how-to/metal.md"
JOIN = "node/host/join.sh"
STEPS = {"plan", "hosts", "doctor", "up", "power"}
LEFT = "..."
"""What the page leaves to its reader; here it is what the stack has."""


def test_every_target_that_is_typed_is_in_the_makefile() -> None:
    typed = set(re.findall(r"(?:`|\$ )make ([a-z-]+)", text(PAGE)))
    assert typed >= STEPS
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert typed - there == set()


def test_the_secrets_that_are_set_are_those_that_the_program_asks_for() -> None:
    step = text(PAGE).partition("## 3. ")[2].partition("## 4. ")[0]
    assert tuple(re.findall(r"^\$ pulumi config set --secret gpucluster:(\w+)", step, re.MULTILINE)) == SECRETS


def test_every_model_that_a_rehearsal_knows_is_named() -> None:
    said = " ".join(text(PAGE).partition("knows these models of servers")[2].partition(". ")[0].split())
    models = {re.sub(r"^(DGX|Dell PowerEdge|Supermicro) ", "", name) for name in SERVERS}
    assert {name for name in models if name not in said} == set()


def test_the_step_that_the_engine_is_to_forget_is_one_that_dials_its_machine_when_it_is_deleted() -> None:
    section = text(PAGE).partition("### Take out a machine that is dead")[2].partition("\n### ")[0]
    (name,) = set(re.findall(r"::([a-z0-9-]+)[$']", section))
    step = graph_of("metal").one(name)
    assert step.inputs["delete"].endswith("bash -s -- undo")
    assert step.inputs["connection"]["host"] == "10.20.0.22"
    assert not step.retained


def test_a_member_of_etcd_is_removed_by_the_words_of_the_machine_that_cannot_join() -> None:
    section = text(PAGE).partition("### Replace a control plane machine")[2].partition("\n### ")[0]
    said = re.search(r"JOIN_ETCDCTL='kubectl -n kube-system exec etcd-NAME -- (.*)'", (ROOT / JOIN).read_text())
    assert said is not None
    assert f'etcdctl="{said[1]}"' in section
    assert "member remove ID" in section


def test_a_failure_is_quoted_as_its_step_and_script_say_it() -> None:
    quoted = re.search(r"^  (\S+): (\w+): failed: (\S+) (.+)$", text(PAGE).partition("## 4. ")[2], re.MULTILINE)
    assert quoted is not None
    step, concern, drive, said = quoted.groups()
    assert graph_of("metal").one(step).inputs["connection"]["host"] == "10.20.0.23"
    script, shared = ((ROOT / f"node/host/{each}.sh").read_text(encoding="utf-8") for each in (concern, "lib"))
    assert 'drive_unused "$1" "scratch drive"' in script
    words = re.search(r'fail "\$1 (is in use, mounted at [^"]*)"', shared)
    assert words is not None
    assert said == words[1].replace("$used", "/raid").replace("$2", "scratch drive")
    assert drive.startswith("/dev/disk/by-path/")


def piped(section: str, script: str) -> list[str]:
    """What is said to a script that a line hands to `bash -s` on a machine, one after the other."""
    found = re.findall(rf"^\S.*?\bsudo bash -s -- (.+?) < {re.escape(script)}", section, re.MULTILINE | re.DOTALL)
    return [" ".join(each.split()) for each in found]


def test_etcd_is_restored_by_the_steps_that_were_tried_with_real_members() -> None:
    """In that order, of the machines of the shipped stack, from where the snapshot was brought."""
    section = text(PAGE).partition("## Restore etcd")[2].partition("\n## ")[0]
    planes = {f"cp-{number}": f"10.20.0.1{number}" for number in (1, 2, 3)}
    members = " ".join(f"{name}={address}" for name, address in planes.items())
    known = {graph_of("metal").one(f"host-{name}-prepared").inputs["connection"]["host"] for name in planes}
    assert known == set(planes.values())
    tried = (ROOT / "tests/rehearsed/hosts/test_etcd_restore.py").read_text(encoding="utf-8")
    steps = re.findall(r'step\(hall, host, f?"([^"]+)"\)', tried.partition("def test_what_was_saved")[2])
    told = [
        each.replace("{MEMBERS}", members) for each in steps[1:]
    ]  # the first is one that is refused: etcd still runs
    assert piped(section, "node/etcd/restore.sh") == told == ["stop", f"restore /var/tmp/etcd.db {members}", "start"]
    assert section.count("for host in " + " ".join(planes.values())) == 4
    assert "scp etcd.db ops@$host:/var/tmp/etcd.db" in section


def test_a_minor_is_changed_by_the_words_that_were_tried() -> None:
    section = text(PAGE).partition("### Another minor of Kubernetes")[2].partition("\n## ")[0]
    script = "node/kubernetes/upgrade.sh"
    tried = (ROOT / "tests/rehearsed/hosts/test_joining.py").read_text(encoding="utf-8")
    (words,) = set(re.findall(r'f"bash -s -- ([^"]+)", UPGRADE', tried))
    assert piped(section, script) == [words.replace("{name}", "$host").replace("{version}", "$version")]
    (host, version) = re.findall(r"host=(\S+) .*version=(\S+)", section)[0]
    (answer,) = re.findall(r"^printf '(.*)\\n' \"\$NODE\"", (ROOT / script).read_text(encoding="utf-8"), re.MULTILINE)
    assert answer % (host, version, host) in section.splitlines()
    typed = [line.removeprefix("$ ").split()[:2] for line in section.splitlines() if line.startswith("$ ")]
    assert [each[-1] if each[0] == "kubectl" else each[0] for each in typed[1:]] == ["drain", "ssh", "uncordon"]


def laid(above: Any, below: Any) -> Any:
    """`above` over `below`: mappings key by key, machines by their names."""
    if isinstance(above, Mapping):
        own = below if isinstance(below, Mapping) else {}
        found = {**own, **{key: laid(value, own.get(key)) for key, value in above.items()}}
        return {key: value for key, value in found.items() if value is not None}
    if isinstance(above, (list, str)) and LEFT in above:
        return below
    if isinstance(above, list) and all(isinstance(each, Mapping) for each in above):
        named = {each["name"]: each for each in below or ()}
        return list({**named, **{each["name"]: laid(each, named.get(each["name"])) for each in above}}.values())
    return above


STACKS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "lustre": with_lustre,
    "home": with_home,
    "ceph": with_ceph,
    "sensors": lambda: monitored(stack_config("metal")),
}
"""The shipped stack with what a fragment that has this key takes beside it, as the page says there."""


def monitored(config: dict[str, Any]) -> dict[str, Any]:
    return {
        **config,
        "gpucluster:monitoring": {},
        "gpucluster:inventory": {**config["gpucluster:inventory"], "logs": {"host": "10.20.0.5"}},
    }


@pytest.mark.parametrize("block", fragments([PAGE]))
def test_a_fragment_is_a_part_of_the_shipped_stack_that_plans(block: str) -> None:
    """A line that is left out is a comment; one without a section is the inventory's."""
    read = yaml.safe_load(re.sub(r"^( *)\.\.\.$", r"\1# ...", block, flags=re.MULTILINE))
    prefixed = read if all(key.startswith("gpucluster:") for key in read) else {"gpucluster:inventory": read}
    takes = next((make for key, make in STACKS.items() if re.search(rf"^ +{key}:", block, re.MULTILINE)), None)
    whole = laid(prefixed, takes() if takes else stack_config("metal"))
    assert [each.sentence for each in metal_plan_of(whole).errors] == []
