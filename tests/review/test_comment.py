"""The comment's Markdown: the line to decide on, and what stands below it."""

import re
from pathlib import Path
from typing import Any

import pytest

from review.blocks import Rank
from review.comment import comment
from review.compared import Compared
from review.diff import is_noise
from review.losses import losses
from review.post import LIMIT, MARKER
from review.preview import Preview
from review.sections import sections
from review.words import plain
from review.words import step as gained
from tests.review.stacks import compared, preview, stepped, told, urn

GOLDEN = Path(__file__).parent / "golden"
NODES = "aws:eks/nodeGroup:NodeGroup"
JOB = "kubernetes:kubeflow.org/v1:PyTorchJob"
ROLE = "aws:iam/role:Role"
GROWN = {
    "pools.1.count": 14,
    "budget.maxHourlyUsd": 900,
    "budget.maxGpus": 128,
    "budget.alerts.monthlyUsd": 700_000,
}


def shown(*stacks: Compared) -> str:
    return comment(stacks, base="main (0123456789)", whole="[artifact](https://example.org/run#artifacts)")


def decided(*stacks: Compared) -> str:
    """The first line that a reader sees."""
    marker, first, *_ = shown(*stacks).splitlines()
    assert marker == MARKER
    return first


def same_as_golden(name: str, text: str, accept: bool) -> None:
    file = GOLDEN / f"{name}.md"
    if accept:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def grown() -> Preview:
    """As the engine logs it: the node group's size, and a label among what is noise."""
    sizes = [
        {"scalingConfig": {"desiredSize": count, "maxSize": count}, "tags": {"day": str(count)}} for count in (8, 14)
    ]
    return preview(
        stepped("same", "aws:ec2/vpc:Vpc", "network-vpc", {}, {}),
        stepped("update", NODES, "pool-training-nodes", *sizes, diffs=["scalingConfig", "tags"]),
    )


def test_more_nodes_of_a_pool(tmp_path: Path, accept: bool) -> None:
    """The pull request that changes `pools[1].count`: nodes, money, nothing replaced, quotas to ask for first."""
    stack = compared(tmp_path, "prod", GROWN, grown())
    assert decided(stack) == "- **prod**: +6 p5.48xlarge, +USD 331/h, no replacement, no new warning"
    ranks = [Rank.DECISION, Rank.LOSSES, Rank.NUMBERS, Rank.LOSSES, *[Rank.FINDINGS] * 3, Rank.DIFF, Rank.NOISE]
    assert [each.rank for each in sections(stack)] == ranks, "what is cut last stands first, restarts among it"
    same_as_golden("count", shown(stack), accept)


def test_several_stacks_in_one_comment(tmp_path: Path, accept: bool) -> None:
    """Those that are refused first; one that does not change has its line and no more."""
    stacks = [compared(tmp_path, "lab"), compared(tmp_path, "prod", {"pools.1.count": 14})]
    text = shown(*stacks)
    lines = text.splitlines()
    assert lines[1].startswith("- **prod**: **refused**: +6 p5.48xlarge, +USD 331/h")
    assert lines[2] == "- **lab**: the same nodes, same price, replacements not checked, no new warning"
    assert "## lab" not in text
    same_as_golden("several", text, accept)


def test_a_broken_stack_file(tmp_path: Path, accept: bool) -> None:
    """What nobody can plan is said with its path and what to type."""
    stack = compared(tmp_path, "dev", {"pools.1.count": "many", "storage.lustre.capacity": 1})
    assert decided(stack) == "- **dev**: **refused**: 2 mistakes in `Pulumi.dev.yaml`"
    same_as_golden("broken", shown(stack), accept)


def renamed() -> Preview:
    """A component under another name: all that it holds is another thing to the engine."""
    policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow"}]}'
    role = {"assumeRolePolicy": policy, "description": "for pods"}
    files = {"storageCapacity": 19200, "deploymentType": "PERSISTENT_2"}
    lustre = "aws:fsx/lustreFileSystem:LustreFileSystem"
    return preview(
        stepped("create", "gpucluster:index:SharedStorage", "files", new={}),
        stepped("create", ROLE, "files-role", new=role),
        stepped("create", lustre, "files-lustre", new=files),
        stepped("delete", ROLE, "storage-role", role),
        stepped("delete", lustre, "storage-lustre", files, protect=True),
        stepped("delete", "gpucluster:index:SharedStorage", "storage", {}),
    )


def test_a_renamed_component(tmp_path: Path, accept: bool) -> None:
    """It destroys what the component holds; data first, with the alias that would keep it."""
    stack = compared(tmp_path, "prod", None, renamed())
    assert decided(stack) == "- **prod**: the same nodes, same price, **2 destroyed**, no new warning"
    text = shown(stack)
    rows = [line for line in text.splitlines() if line.startswith("| **destroyed**")]
    assert "storage-lustre" in rows[0]
    assert "every file on it goes with it" in rows[0]
    assert "made again as `files-lustre`: an alias of the old name would keep it" in rows[0]
    assert "it is protected, so the update will refuse" in rows[0]
    same_as_golden("renamed", text, accept)


@pytest.mark.parametrize("name", ["name", "namePrefix", "clusterName", "roleName", "nodeGroupName", "metadata"])
def test_a_rename_is_seen_whatever_the_name_is_called(name: str) -> None:
    old, new = ({name: {"name": each} if name == "metadata" else each, "size": 1} for each in ("old", "new"))
    changes = preview(stepped("create", ROLE, "new-role", new=new), stepped("delete", ROLE, "old-role", old))
    (row,) = losses(Compared(stack="prod", before=None, after=None, preview=changes)).lines
    assert "made again as `new-role`" in row


def test_a_rename_is_seen_where_an_arn_is_not_known_yet() -> None:
    """What the new one refers to is made anew as well; what it says itself has to be the same."""
    arn = "arn:aws:iam::123456789012:role/old"
    for size, seen in ((1, True), (2, False)):
        new = {"roleArn": "[unknown]", "size": size}
        old = stepped("delete", NODES, "old-nodes", {"roleArn": arn, "size": 1})
        changes = preview(stepped("create", NODES, "new-nodes", new=new), old)
        (row,) = losses(Compared(stack="prod", before=None, after=None, preview=changes)).lines
        assert ("made again as `new-nodes`" in row) is seen


def test_a_document_that_is_removed_is_noise_as_one_that_changes(tmp_path: Path) -> None:
    told = {"inline": '{"Version": "2012-10-17", "Statement": []}', "description": "a role"}
    step = stepped("update", ROLE, "a-role", told, {})
    loud, _, quiet = shown(compared(tmp_path, "prod", None, preview(step))).partition("IAM documents, labels and URNs")
    assert "!   description: removed a role" in loud
    assert "inline" not in loud
    assert "!   inline: removed" in quiet


def test_what_a_preview_fails_of_is_one_block_of_text(tmp_path: Path) -> None:
    """Whatever stands in it: what follows is the comment's own again."""
    failed = preview({"diagnosticEvent": {"severity": "error", "message": "one\n```\ntwo"}})
    lines = shown(compared(tmp_path, "prod", None, failed)).splitlines()
    begin = lines.index("The preview fails:")
    assert lines[begin + 1 : begin + 7] == ["", "```text", "one", "'''", "two", "```"]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("aws:efs/fileSystem:FileSystem", "every file on it"),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "every file on it"),
        ("aws:s3/bucket:Bucket", "every object in it"),
        ("aws:s3/bucketV2:BucketV2", "every object in it"),
        ("aws:ebs/volume:Volume", "what is on it"),
        ("aws:kms/key:Key", "what only it can decrypt"),
        ("aws:eks/cluster:Cluster", "everything that runs in it"),
        ("kubernetes:core/v1:PersistentVolumeClaim", "what is on its volume"),
        ("kubernetes:core/v1:Namespace", "everything in it"),
    ],
)
def test_what_goes_with_a_thing_is_said_and_stands_first(kind: str, data: str) -> None:
    changes = preview(stepped("delete", ROLE, "a", {}), stepped("replace", kind, "b", {}, {}, keys=["x"]))
    first, _ = losses(Compared(stack="prod", before=None, after=None, preview=changes)).lines
    assert f"`x` cannot change in place; **{data} goes with it**" in first


def test_another_thing_of_the_same_type_is_no_rename(tmp_path: Path) -> None:
    changes = preview(
        stepped("create", ROLE, "new-role", new={"description": "for nodes"}),
        stepped("delete", ROLE, "old-role", {"description": "for pods"}),
    )
    text = shown(compared(tmp_path, "prod", None, changes))
    assert "alias" not in text
    assert "| **destroyed** | `aws:iam:Role old-role` | no longer in the program |" in text


def four_hundred() -> Preview:
    """400 resources, each replaced for a reason with a long diff."""
    words = " ".join(["value"] * 40)
    return preview(
        *(
            stepped(
                "replace",
                "aws:ec2/subnet:Subnet",
                f"network-subnet-{number:03}",
                {"cidrBlock": f"10.0.{number}.0/24", "note": f"{words} {number}", "tags": {"n": words}},
                {"cidrBlock": f"10.1.{number}.0/24", "note": f"{number} {words}", "tags": {"n": f"{words}!"}},
                keys=["cidrBlock"],
            )
            for number in range(400)
        )
    )


def test_four_hundred_changed_resources(tmp_path: Path, accept: bool) -> None:
    """All that is replaced is named, the diff is cut at GitHub's limit, and the rest has its link."""
    text = shown(compared(tmp_path, "prod", None, four_hundred()))
    assert len(text) <= LIMIT
    assert all(f"`aws:ec2:Subnet network-subnet-{number:03}`" in text for number in range(400))
    assert "more lines: [artifact](https://example.org/run#artifacts)" in text
    assert text.count("<details>") == text.count("</details>")
    same_as_golden("four-hundred", text, accept)


@pytest.mark.parametrize(
    ("path", "value", "noise"),
    [
        ("metadata.labels.app", "x", True),
        ('metadata.annotations["a/b"]', "x", True),
        ("tags.day", "1", True),
        ("tagsAll.day", "1", True),
        ("spec.selector.matchLabels.app", "x", True),
        ("urn", "x", True),
        ("provider", "x", True),
        ("__defaults[0]", "x", True),
        ("policy", "x", True),
        ("assumeRolePolicy", "x", True),
        ("inlinePolicies[0].policy", "x", True),
        ("inlinePolicy", "x", True),
        ("target", "urn:pulumi:prod::gpucluster::aws:ec2/vpc:Vpc::network", True),
        ("document", ' {"Statement": []}', True),
        ("document", '{"statement": []}', False),
        ("spec.replicas", 3, False),
        ("data.provider_name", "x", False),
    ],
)
def test_documents_labels_and_urns_are_apart(path: str, value: object, noise: bool) -> None:
    assert is_noise(path, value) is noise


def test_of_two_long_texts_the_part_that_differs_is_shown(tmp_path: Path) -> None:
    texts = [f"{'same ' * 100}{word}{' same' * 100}" for word in ("before", "after")]
    step = stepped("update", "kubernetes:core/v1:ConfigMap", "a", *({"data": {"x": each}} for each in texts))
    (line,) = [each for each in shown(compared(tmp_path, "prod", None, preview(step))).splitlines() if "data.x" in each]
    assert line.startswith("!   data.x: ...same same same same before same")
    assert " => ...same same same same after same" in line
    assert line.count("... (1,00") == 2


def test_a_value_cannot_end_the_folded_diff(tmp_path: Path) -> None:
    step = stepped("update", "kubernetes:core/v1:ConfigMap", "a", {"data": {"x": "1"}}, {"data": {"x": "```\n<img>"}})
    assert "!   data.x: 1 => ''' <img>" in shown(compared(tmp_path, "prod", None, preview(step))).splitlines()


def test_a_stack_that_is_new_and_one_that_is_gone(tmp_path: Path) -> None:
    """The base of a new one is nothing; a file that is removed takes nothing away by itself."""
    new = Compared(stack="dev", before=None, after=told(tmp_path, "dev"))
    first = decided(new)
    assert first.startswith("- **dev**: new: +2 m7i.xlarge, +2 p5.4xlarge, +2 g6e.xlarge, +USD ")
    assert "The base has no `Pulumi.dev.yaml`: everything is new." in shown(new)
    gone = Compared(stack="dev", before=told(tmp_path, "dev"), after=None)
    removed = "its stack file is removed: its resources stay, and cost money, until `pulumi destroy`"
    assert decided(gone) == f"- **dev**: {removed}"


def test_no_stack_changes() -> None:
    assert (
        decided()
        == "No stack changes against `main (0123456789)`: neither a stack file nor the program's code differs."
    )


def test_a_base_that_nobody_can_plan(tmp_path: Path) -> None:
    """The tree mends it: its price stands without a difference."""
    stack = Compared(stack="dev", before=told(tmp_path, "dev", {"pools.1.count": "x"}), after=told(tmp_path, "dev"))
    assert re.search(r", USD \d+\.\d\d/h, ", decided(stack))
    assert "The base's own file cannot be planned" in shown(stack)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (
            stepped("replace", JOB, "run-llama-3-70b-pretrain-job", {"spec": 1}, {"spec": 2}, keys=["spec"]),
            "its job is replaced (spec)",
        ),
        (
            stepped("update", NODES, "pool-training-nodes", {"v": 1}, {"v": 2}, diffs=["launchTemplate.version"]),
            "every node of pool training is replaced by an update",
        ),
        (stepped("replace", NODES, "pool-training-nodes", {}, {}), "the nodes of pool training are replaced"),
        (
            stepped("replace", NODES, "pool-training-1-nodes", {}, {}),
            "the nodes of pool training (pool-training-1-nodes) are replaced",
        ),
        (
            stepped("update", NODES, "pool-training-spot-nodes", {"v": 1}, {"v": 2}, diffs=["version"]),
            "every node of pool training (pool-training-spot-nodes) is replaced by an update",
        ),
    ],
    ids=["job", "template", "nodes", "block", "spot"],
)
def test_a_run_that_restarts_goes_on_from_its_save(step: dict[str, Any], why: str, tmp_path: Path) -> None:
    """The prod run saves to the shared file system every 90 minutes."""
    stack = compared(tmp_path, "prod", None, preview(step))
    assert "1 workload restarts" in decided(stack)
    row = f"| run llama-3-70b-pretrain | {why} | its newest checkpoint on the shared file system, at most 90 min old |"
    assert row in shown(stack).splitlines()


def test_a_run_that_saves_nothing_begins_at_its_first_step(tmp_path: Path) -> None:
    step = stepped("replace", JOB, "run-llama-3-8b-sft-job", {}, {}, keys=["spec"])
    text = shown(compared(tmp_path, "dev", None, preview(step)))
    assert "| run llama-3-8b-sft | its job is replaced (spec) | its first step: it has no checkpoint |" in text


def test_fewer_nodes_may_end_what_runs_there(tmp_path: Path) -> None:
    sizes = [{"scalingConfig": {"desiredSize": count}} for count in (8, 7)]
    step = stepped("update", NODES, "pool-training-nodes", *sizes, diffs=["scalingConfig.desiredSize"])
    changes = {"pools.1.count": 7, "training.runs.0.nodes": 7}
    text = shown(compared(tmp_path, "prod", changes, preview(step)))
    assert "| run llama-3-70b-pretrain | pool training loses 1 of 8 nodes" in text


def test_policies_stand_in_the_comment(tmp_path: Path) -> None:
    """Those that stop an update also in the line to decide on."""
    told_of = {"resourceUrn": urn(ROLE, "a-role"), "policyName": "least-rights", "enforcementLevel": "mandatory"}
    broken = {"policyEvent": {**told_of, "message": "a-role may do anything\nremedy: name actions"}}
    text = shown(compared(tmp_path, "prod", None, preview(broken)))
    assert "**preview fails**: the same nodes, same price, no replacement, **1 policy broken**" in text.splitlines()[1]
    assert "- **stops** `least-rights`: a-role may do anything remedy: name actions" in text
    kept = preview({"policyAnalyzeStackSummaryEvent": {"passed": ["a", "b"]}})
    assert "**Policies**: 2 asked, none broken" in shown(compared(tmp_path, "prod", None, kept))


def test_a_preview_that_fails_says_what_the_engine_says(tmp_path: Path) -> None:
    failed = preview({"diagnosticEvent": {"severity": "error", "message": "boom ``` boom"}}, ended=False)
    stack = compared(tmp_path, "prod", None, failed)
    assert decided(stack).startswith("- **prod**: **preview fails**: ")
    assert "```text\nboom ''' boom\n```" in shown(stack)


def test_every_mark_of_markdown_is_only_a_mark() -> None:
    assert plain("\\|<*_`[]! a @b a@b") == "\\\\\\|&lt;\\*\\_\\`\\[\\]\\! a @&#8203;b a@b"


def test_a_difference_has_no_digits_of_the_machines() -> None:
    assert (gained(13_485_333.30, 13_485_333.33), gained(1.0, 1.0000004)) == ("+0.03", "+0")


def test_text_of_a_stack_file_is_only_text(tmp_path: Path) -> None:
    """Names come from whoever wrote the file: no mention, picture, table cell or tag may come of them."""
    name = "x | <img src=y> @everyone ![z](w)"
    stack = compared(tmp_path, "dev", {"training.runs.0.queue": name})
    text = shown(stack)
    assert "<img" not in text
    assert "@everyone" not in text.replace("`", "")
    assert "![" not in text
