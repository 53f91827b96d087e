"""A pull request that renames a component: the real engine's preview of it, and the comment that a reviewer gets."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.faces.revision import Told, checked_out
from rehearsal import places
from rehearsal.tests.command.trial import Trial, small
from review.comment import comment
from review.compared import Compared
from review.rehearsed import previewed

pytestmark = pytest.mark.engine

COMPONENT = """
class Files(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("trial:index:Files", name)
        mine = pulumi.ResourceOptions(parent=self, provider=kept.provider)
        tags = {"Name": "files"}
        aws.s3.Bucket(f"{name}-bucket", bucket=f"files-{pulumi.get_stack()}", tags=tags, opts=mine)
        aws.ec2.Subnet(f"{name}-subnet", vpc_id=vpc.id, cidr_block="10.0.9.0/24", tags=tags, opts=mine)

Files("files")
"""


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    """The program with a component, committed."""
    made = small(tmp_path)
    main = made.root / "__main__.py"
    main.write_text(main.read_text() + COMPONENT)
    git = ["git", "-C", str(made.root), "-c", "user.name=n", "-c", "user.email=e@example.com"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "one"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setenv("GPUCLUSTER_HOME", str(made.home))
    monkeypatch.setenv("PYTHONPATH", str(places.CODE))
    yield made
    made.end()


def commented(trial: Trial) -> str:
    """The comment on what the tree changes; the plan has nothing to say."""
    with checked_out(trial.root, "HEAD") as tree:
        stack = Compared(stack="dev", before=Told(), after=Told(), unseen="not yet")
        seen = previewed(trial.root, stack, "HEAD", tree, print)
    assert seen.unseen == ""
    assert seen.preview is not None
    assert seen.preview.errors == ()
    return comment([seen], base="HEAD", whole="the log")


@pytest.mark.scale
def test_a_component_under_another_name_is_destroyed_and_the_alias_that_keeps_it_is_named(trial: Trial) -> None:
    """And with that alias in the program nothing is lost."""
    main = trial.root / "__main__.py"
    renamed = main.read_text().replace('Files("files")', 'Files("datasets")')
    main.write_text(renamed)
    text = commented(trial)
    assert "**2 destroyed**" in text
    rows = [line for line in text.splitlines() if line.startswith("| **destroyed**")]
    assert len(rows) == 2
    for kind, row in zip(("aws:s3:Bucket files-bucket", "aws:ec2:Subnet files-subnet"), rows, strict=True):
        assert f"`{kind}`" in row
        assert f"made again as `datasets-{kind.rpartition('-')[2]}`: an alias of the old name would keep it" in row
    kept = renamed.replace(
        'super().__init__("trial:index:Files", name)',
        'super().__init__("trial:index:Files", name, None, '
        'pulumi.ResourceOptions(aliases=[pulumi.Alias(name="files")]))',
    )
    assert kept != renamed
    main.write_text(kept)
    text = commented(trial)
    assert "destroyed" not in text
