"""`make picture`: the comment as a reader of GitHub sees it, drawn by a Chromium on PATH.

Two pictures stand in docs/pictures: one of a comment that `make review` printed after a preview, one of the golden of
a new lab, which is by plan alone; those of all goldens go to build/comments, for who changes how a comment is made.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "review" / "golden"
SHOWN: Mapping[str, tuple[Path, int]] = {
    "pull-request": (ROOT / "docs" / "how-to" / "pull-request-comment.md", 900),
    "lab": (GOLDEN / "fork.md", 350),
}
"""Pictures of the documentation: of which comment, and their height in CSS pixels."""
WIDTH = 920
STYLE = """body { font: 14px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; margin: 20px; color: #1f2328 }
table { border-collapse: collapse; margin: 0 0 16px } th, td { border: 1px solid #d1d9e0; padding: 5px 12px }
code { background: #eff1f3; border-radius: 6px; padding: 2px 5px; font-size: 12px } summary { margin: 8px 0 }
pre { background: #f6f8fa; padding: 12px; overflow: hidden } pre code { background: none; padding: 0 }
h2 { border-bottom: 1px solid #d1d9e0; font-size: 21px; padding-bottom: 5px }"""


def html(markdown: str) -> str:
    """A page that shows a comment: CommonMark with GitHub's tables, HTML passed through as GitHub does `details`."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    return f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>{body}'


def draw(chromium: str, comment: Path, picture: Path, height: int) -> None:
    """Write the top of a comment as PNG."""
    with tempfile.TemporaryDirectory(prefix="gpucluster-picture-") as scratch:
        page = Path(scratch) / "page.html"
        page.write_text(html(comment.read_text(encoding="utf-8")), encoding="utf-8")
        command = [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *(f"--user-data-dir={scratch}/profile", f"--window-size={WIDTH},{height}"),
            *(f"--screenshot={picture}", page.as_uri()),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=300)


def main() -> int:
    """Draw all."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("error: no Chromium is on PATH: install it (Debian: chromium)", file=sys.stderr)
        return 1
    for folder in (ROOT / "docs" / "pictures", ROOT / "build" / "comments"):
        folder.mkdir(parents=True, exist_ok=True)
    for name, (comment, height) in SHOWN.items():
        draw(chromium, comment, ROOT / "docs" / "pictures" / f"{name}.png", height)
    for comment in sorted(GOLDEN.glob("*.md")):
        draw(chromium, comment, ROOT / "build" / "comments" / f"{comment.stem}.png", 2000)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
