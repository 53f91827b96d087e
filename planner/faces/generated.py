"""The committed files that follow from the planner: `python -m planner.faces.generated [--check]`."""

import json
import sys
from pathlib import Path

from planner.faces import (
    catalogue_pages,
    codes_page,
    requirements_page,
    rules_page,
    sizing_page,
    stack_file_page,
)
from planner.faces.document import schema

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def contents() -> dict[str, str]:
    """Every file's content by its name."""
    return {
        "plan.schema.json": json.dumps(schema(), indent=2, ensure_ascii=False) + "\n",
        "planner.md": rules_page.page(),
        "codes.md": codes_page.page(),
        "requirements.md": requirements_page.page(),
        "sizing.md": sizing_page.page(),
        "stack-file.md": stack_file_page.page(),
        "instances.md": catalogue_pages.instances(),
        "models.md": catalogue_pages.models(),
    }


def main(arguments: list[str]) -> int:
    """Write the files; with --check, only say which of the committed ones are stale (1) or that none is (0)."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m planner.faces.generated [--check]")
        return 2
    stale = [
        REFERENCE / name
        for name, content in contents().items()
        if not (REFERENCE / name).exists() or (REFERENCE / name).read_text(encoding="utf-8") != content
    ]
    if arguments:
        for path in stale:
            print(f"docs/reference/{path.name} is not what the planner says; type: make reference")
        return 1 if stale else 0
    for path in stale:
        path.write_text(contents()[path.name], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
