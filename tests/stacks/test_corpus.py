"""The settings' corpus through the whole program: good files keep every rule, bad ones register nothing."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from policy import RULES
from policy.rule import violations
from tests.graph import schema_aws, schema_kubernetes, schema_sdk
from tests.graph.outputs import INVOKES
from tests.graph.roles import unsimulated
from tests.graph.stackfiles import ROOT, refusal, run_program

CALLER = "aws:index/getCallerIdentity:getCallerIdentity"
CORPUS = ROOT / "tests" / "settings" / "corpus"
SEEN_IN_THE_FILE_ONLY = {
    "a-character-of-no-text",
    "a-list",
    "date-for-a-count",
    "day-without-quotes",
    "default-providers-on",
    "key-twice",
    "list-for-a-key",
    "settings-beside-config",
    "tag-of-python",
}
"""What the engine settles while it reads the file, so that only the reader of the file can say it."""


def files(kind: str, deployable: bool | None = None) -> list[Any]:
    """Files of the corpus; `deployable` chooses between those of racks that name no machines (False) and the others."""
    paths = sorted((CORPUS / kind).glob("*.yaml"))
    chosen = [path for path in paths if deployable is None or _deployable(path) is deployable]
    return [pytest.param(path, id=path.stem) for path in chosen if path.stem not in SEEN_IN_THE_FILE_ONLY]


def _deployable(path: Path) -> bool:
    return not path.stem.startswith("metal-") or "gpucluster:inventory" in config_in(path)


def config_in(path: Path) -> dict[str, Any]:
    """What the engine would hand over of the file: the keys below config:."""
    config = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("config")
    return config if isinstance(config, dict) else {}


def sentences(path: Path) -> list[str]:
    return [
        line.removeprefix("# says: ") for line in path.read_text("utf-8").splitlines() if line.startswith("# says: ")
    ]


@pytest.mark.parametrize("path", files("good", deployable=False))
def test_a_good_file_without_machines_is_refused_by_one_sentence(path: Path) -> None:
    assert "is missing, so the stack can only be planned" in refusal(config_in(path), stack="corpus")


@pytest.mark.parametrize("path", files("good", deployable=True))
def test_what_a_good_file_deploys_keeps_every_rule_and_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deployed to the account that the file's certificate is of, where it names one."""
    for account in re.findall(r"arn:aws:acm:[^:]*:(\d{12}):", path.read_text(encoding="utf-8")):
        monkeypatch.setitem(INVOKES, CALLER, {**INVOKES[CALLER], "accountId": account})
    graph = run_program(config_in(path), stack="corpus")
    found = [str(each) for each in violations(graph, RULES)] + unsimulated(graph, "corpus")
    for each in graph.resources.values():
        found += [*schema_sdk.problems(each), *schema_aws.problems(each)]
        if each.kind not in schema_kubernetes.KINDS or schema_kubernetes.crd_file(each.kind):
            found += schema_kubernetes.problems(each)
    assert found == []


@pytest.mark.parametrize("path", files("bad"))
def test_a_bad_file_registers_nothing_and_says_why(path: Path) -> None:
    said = refusal(config_in(path), stack="corpus")
    paths = [sentence.split(": ", 1)[0] for sentence in sentences(path)]
    assert paths
    assert [path for path in paths if path not in said] == []
