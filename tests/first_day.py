"""`python -m tests.first_day`: a day of docs/explanation/first-day.md, played in an empty clone of the last commit.

Each step is typed as the tutorial has it, and must print what its line here says: the first that does not ends the day
with status 1, its output and the clone's path. The steps are printed as rows of the page's table.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.graph.stackfiles import ROOT

FILE = "Pulumi.third.yaml"
NEW = (
    "make new STACK=third ARGS='--region {} --train p5en.48xlarge --nodes 2 --serve qwen2.5-7b "
    "--network 198.18.11.0/24 --weights s3://our-models/qwen2.5-7b'"
)
LOGS = "make kubectl STACK=third ARGS='logs -n training first-run-master-0'"
ANSWER = """\
proxy=$(make status STACK=third | grep -o '[^ ]*/proxy.curl')
TOKEN=$(make kubectl STACK=third ARGS='get secret -n inference -l gpucluster/service=qwen2-5-7b \
-o jsonpath={.items[0].data.token}' | base64 -d)
curl -sS -K "$proxy" http://qwen2-5-7b.inference:8000/v1/completions -H "Authorization: Bearer $TOKEN" \
-d '{"model": "qwen2-5-7b", "prompt": "Once upon a time", "max_tokens": 32}'"""
AGAIN = """\
make submit STACK=third RUN=first-run ACCOUNT=111122223333 OUT=build/job.yaml
make kubectl STACK=third ARGS='create -f build/job.yaml'"""
COMMIT = f"git add {FILE} && git -c user.name=first -c user.email=first@example.com commit -m third"
GROWN = (("p5en.48xlarge, count: 2", "p5en.48xlarge, count: 3"), ("nodes: 2", "nodes: 3"))
PAID = (("maxHourlyUsd: 143", "maxHourlyUsd: 200"),)
PLAN = "make plan STACK=third BASE=HEAD"


@dataclass(frozen=True)
class Step:
    """`prints`: a regular expression that the output must hold, of which the row tells what it found."""

    what: str
    command: str
    prints: str
    fails: bool = False
    edits: tuple[tuple[str, str], ...] = ()
    """Texts of the stack's file, each replaced by another before the command."""


STEPS = (
    Step("a file that cannot work", NEW.format("eu-west-1"), r"EC2 offers no p5en\.48xlarge in eu-west-1", fails=True),
    Step("a file", NEW.format("us-west-2"), r"\d+ nodes, [\d.]+ USD an hour"),
    Step("its plan", "make plan STACK=third", r"0 errors, \d+ warnings"),
    Step("**own cluster**", "make up STACK=third", r"training/first-run\W+2\W+2\W+Running"),
    Step("**first run**, its logs", LOGS, r"NET/OFI Selected provider is \w+"),
    Step("**first answer**", ANSWER, r'"text"'),
    Step("it is committed", COMMIT, "1 file changed"),
    Step("**own change**: three nodes", PLAN, r"raise the budget to [\d.]+", fails=True, edits=GROWN),
    Step("the budget is raised", "make preview STACK=third", r"replace \d+, same \d+, update \d+", edits=PAID),
    Step("as a reviewer sees it", "make review BASE=HEAD STACK=third", r"\+1 p5en\.48xlarge[^\n]*"),
    Step("", "make up STACK=third", r"training/first-run\W+3\W+3\W+Running"),
    Step("once more by hand", AGAIN, r"first-run-\w+ created"),
    Step("the end", "make down STACK=third", r"zero left"),
)


def typed(clone: Path, command: str) -> tuple[int, str]:
    """Status and output of a command line."""
    words = ["bash", "-euo", "pipefail", "-c", command]
    done = subprocess.run(words, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def played(clone: Path, step: Step) -> str:
    """The step's row. Raises ValueError with the output of one that did not print what it must."""
    if step.edits:
        text = (clone / FILE).read_text(encoding="utf-8")
        for old, new in step.edits:
            text = text.replace(old, new)
        (clone / FILE).write_text(text, encoding="utf-8")
    began = time.monotonic()
    status, output = typed(clone, step.command)
    found = re.search(step.prints, output)
    if (status != 0) is not step.fails or not found:
        raise ValueError(f"{step.command}: status {status}, without {step.prints!r}:\n{output}")
    command = "; ".join(step.command.splitlines()).replace("|", "\\|")
    told = " ".join(found[0].replace("│", " ").split())
    return f"| {step.what} | `{command}` | `{told}` | {time.monotonic() - began:.0f} |"


def main() -> int:
    """Plays the day; the clone stays where a step broke it, with what it left running."""
    clone = Path(tempfile.mkdtemp(prefix="gpucluster-first-day-"))
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    (clone / ".venv").symlink_to(ROOT / ".venv")
    try:
        for step in STEPS:
            print(played(clone, step), flush=True)
    except ValueError as broken:
        print(f"{broken}\nleft in {clone}: make down STACK=third, then remove it", file=sys.stderr)
        return 1
    shutil.rmtree(clone)
    return 0


if __name__ == "__main__":
    sys.exit(main())
