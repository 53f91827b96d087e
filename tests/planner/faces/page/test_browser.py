"""The page in a real browser: no sideways scrolling, both colour schemes, drawings of a size."""

import json
import re
import shutil
import struct
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from planner.faces.page.whole import page
from tests.planner.faces.test_text import MODEL
from tests.planner.site import planned_site
from tests.planner.stacks import planned, planned_metal

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is on PATH")
WIDTHS = (390, 1440)
SCHEMES = {"dark": 0, "light": 1}
PAPER = 718
"""Width of A4 without the margins of 1 cm that browsers leave, in CSS pixels."""
MEASURE = """
const out = {};
for (const frame of document.querySelectorAll('iframe')) {
  const doc = frame.contentDocument;
  if (frame.id.endsWith('-print')) {
    for (const { media } of doc.styleSheets[0].cssRules) {
      if (media?.mediaText.includes('print')) media.mediaText = 'all';
      else if (media?.mediaText.includes('screen')) media.mediaText = 'not all';
    }
  }
  const body = frame.contentWindow.getComputedStyle(doc.body);
  const sizes = [...doc.querySelectorAll('svg[role=img]')].map(each => each.getBoundingClientRect());
  out[frame.id] = { inner: frame.contentWindow.innerWidth, width: doc.documentElement.scrollWidth,
    paper: body.backgroundColor, drawings: sizes.map(size => [size.width, size.height]),
    text: parseFloat(body.fontSize), cell: parseFloat(getComputedStyle(doc.querySelector('td')).fontSize),
    wide: [...doc.querySelectorAll('.scroll')].filter(each => each.scrollWidth > frame.clientWidth).length,
    hidden: [...doc.querySelectorAll('details > *')].filter(each => !each.checkVisibility()).length };
}
document.title = 'done'; document.body.textContent = JSON.stringify(out);
"""


def browse(address: Path, scheme: str, *options: str) -> str:
    assert CHROMIUM is not None
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000"),
        *("--allow-file-access-from-files", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}"),
        *(f"--user-data-dir={address.parent / 'profile'}", *options, address.as_uri()),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of a stack on AWS, of a refused one, of one on metal, and of 256 nodes."""
    folder = tmp_path_factory.mktemp("pages")
    plans: dict[str, Any] = {
        "aws": planned("prod", MODEL),
        "refused": planned("prod", {**MODEL, "pools.1.count": 6, "training.runs.0.microBatch": 16}),
        "metal": planned_metal(MODEL),
        "large": planned_site({"pools.1.count": 256, "training.runs.0.nodes": 256}),
    }
    for name, plan in plans.items():
        (folder / f"{name}.html").write_text(page(name, plan), encoding="utf-8")
    frames = "".join(
        f'<iframe id="{name}-{width}" src="{name}.html" width="{width}" height="900" style="border:0"></iframe>'
        for name in plans
        for width in WIDTHS
    )
    frames += "".join(
        f'<iframe id="{name}-print" src="{name}.html" width="{PAPER}" height="900" style="border:0"></iframe>'
        for name in plans
    )
    wrapper = f"<!DOCTYPE html><body>{frames}<script>onload = () => {{ {MEASURE} }}</script></body>"
    (folder / "measure.html").write_text(wrapper, encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=SCHEMES)
def measured(pages: Path, request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """A colour scheme, and what a browser that prefers it makes of each page at each width and on paper."""
    dom = browse(pages / "measure.html", request.param, "--dump-dom")
    found = re.search(r"<body>(.*)</body>", dom, re.DOTALL)
    assert found, dom[:500]
    seen = json.loads(unescape(found[1]))
    assert len(seen) == 4 * (len(WIDTHS) + 1)
    return request.param, seen


def test_pages_fit_their_window(measured: tuple[str, dict[str, Any]]) -> None:
    """A telephone's and a screen's; the paper follows the person's colour scheme."""
    scheme, pages_ = measured
    for name, seen in pages_.items():
        if name.endswith("-print"):
            continue
        assert seen["inner"] == int(name.rpartition("-")[2])
        assert seen["width"] <= seen["inner"], name
        assert seen["paper"] == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}[scheme]
        assert seen["hidden"], "nothing is folded on a screen"
        assert seen["drawings"]
        assert all(width > 100 and height > 20 for width, height in seen["drawings"]), name


def test_pages_are_whole_on_paper(measured: tuple[str, dict[str, Any]]) -> None:
    """A4: white whatever the scheme, nothing folded, no table cut off, small type that tables and text share."""
    _, pages_ = measured
    for name in ("aws", "refused", "metal", "large"):
        seen = pages_[f"{name}-print"]
        assert seen["paper"] == "rgb(255, 255, 255)"
        assert (seen["wide"], seen["hidden"]) == (0, 0), name
        assert seen["width"] <= PAPER, name
        assert (seen["text"], seen["cell"]) == (11, pytest.approx(9.9))
        assert all(90 < width <= PAPER and height > 15 for width, height in seen["drawings"]), name


def test_a_page_is_printed(pages: Path) -> None:
    """As a document of a few sheets, dark scheme or not."""
    file = pages / "metal.pdf"
    browse(pages / "metal.html", "dark", f"--print-to-pdf={file}", "--no-pdf-header-footer")
    content = file.read_bytes()
    assert content.startswith(b"%PDF-")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 14


@pytest.mark.parametrize("width", WIDTHS)
def test_a_picture_can_be_taken(pages: Path, width: int) -> None:
    """A PNG of the window's size that is not empty."""
    file = pages / f"metal-{width}.png"
    browse(pages / "metal.html", "light", f"--window-size={width},1600", f"--screenshot={file}")
    content = file.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (width, 1600)
    assert len(content) > 20_000
