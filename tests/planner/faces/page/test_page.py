"""The page shows the plan's own numbers, is whole in itself, and takes nothing from a stack file as markup."""

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.faces.difference import difference
from planner.faces.forecast import seconds
from planner.faces.page.charts import Axis, Curve, curves
from planner.faces.page.elements import Markup, element, table
from planner.faces.page.picture import PICTURE, picture
from planner.faces.page.whole import page
from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.step import FORMULAS, Phase
from planner.types import AwsPlan
from settings.load import from_sections
from settings.presets import preset_names
from tests.planner.faces.page.reading import Node, read
from tests.planner.faces.test_text import MODEL
from tests.planner.site import planned_site
from tests.planner.stacks import ROOT, TODAY, planned, planned_metal

HOSTILE = """<script>alert("1")</script>'&amp;</title></svg><img src=x onerror=y>"""
TWO_FEEDS = {"pools.1.count": 64, "training.runs.0.nodes": 64}


def shown(plan_: AwsPlan | MetalPlan, name: str = "some") -> Node:
    return read(page(name, plan_))


def tier(svg: Node, name: str) -> float:
    return sum(each.number("count") for each in svg.all("rect", data_tier=name))


def test_what_a_change_ends_is_the_first_line_of_what_changes() -> None:
    """A6: on the page as in text."""
    before, after = planned("dev"), planned("dev", {"training.runs.0.nodes": 1})
    changes = read(page("dev", after, difference(before, after))).all("section", id="changes")[0]
    assert changes.all("p")[0].words().startswith("run llama-3-8b-sft stops: ")
    assert "it has no checkpoint" in changes.all("p")[0].words()


def test_networks_beside_the_fabric_end_at_ports() -> None:
    """Machines have several ports there, so that eleven nodes are 32 and 47 ends, each network under its name."""
    networks = shown(planned_site()).all("section", id="networks")[0]
    ends = [label.words() for label in networks.all("text") if label.words().endswith((" nodes", " ports"))]
    assert len(ends) == len(networks.all("h3")) == len(planned_site().networks) > 0
    assert all(each.endswith(" ports") for each in ends)


@pytest.mark.parametrize("nodes", [1, 8, 40, 64, 256, 300, 700])
def test_the_fabric_is_drawn_whole(nodes: int) -> None:
    """Every device stands in a box and every cable in a line, however many stand for one, up to three tiers."""
    planned_ = planned_site({"pools.1.count": nodes, "training.runs.0.nodes": nodes})
    assert planned_.fabric is not None
    design = planned_.fabric.growth.day_one
    svg = shown(planned_).all("svg", data_leaves="")[0]
    for one, name, count in (
        ("leaf", "leaves", design.leaves),
        ("spine", "spines", design.spines),
        ("core", "cores", design.cores),
    ):
        assert svg.number(name) == count
        assert tier(svg, one) == count
    assert tier(svg, "node") == nodes
    assert sum(each.number("cables") for each in svg.all("line", data_cables="")) * design.planes == design.cables
    assert len(svg.all()) < 2600


def test_ports_of_storage_and_manager_stand_beside_the_nodes() -> None:
    """One box for all of them, with every cable."""
    planned_ = planned_site({"fabric.storagePorts": 10, "fabric.subnetManager": "ufm"})
    assert planned_.fabric is not None
    design = planned_.fabric.growth.day_one
    assert design.demand.extra_ports == 14
    svg = shown(planned_).all("svg", data_leaves="")[0]
    assert [each.attributes["data-count"] for each in svg.all("rect", data_tier="other port")] == ["14"]
    assert sum(each.number("cables") for each in svg.all("line", data_cables="")) == design.cables


def test_tiers_that_are_small_are_drawn_one_by_one() -> None:
    """Eight nodes, eight leaves and four spines are twenty boxes."""
    svg = shown(planned_metal()).all("svg", data_leaves="")[0]
    assert [each.attributes["data-count"] for each in svg.all("rect", data_tier="")] == ["1"] * 20


@pytest.mark.parametrize("changes", [{}, TWO_FEEDS], ids=["small", "grouped"])
def test_racks_hold_what_the_plan_puts_there(changes: dict[str, Any]) -> None:
    """Machines, watts and units of each rack; racks that are alike are counted, and all watts are there."""
    planned_ = planned_site(changes)
    figures = shown(planned_).all("svg", data_racks="")
    assert sum(each.number("racks") for each in figures) == len(planned_.facility.racks)
    for figure in figures:
        machines = figure.all("rect", data_machine="")
        rack = next(
            each for each in planned_.facility.racks if each.machines[0] == machines[0].attributes["data-machine"]
        )
        assert [each.attributes["data-machine"] for each in machines] == list(rack.machines)
        assert sum(each.number("watts") for each in machines) == pytest.approx(rack.kw * 1000)
        assert sum(each.number("units") for each in machines) == rack.units
    drawn = sum(each.number("watts") * each.number("racks") for each in figures)
    assert drawn == pytest.approx(planned_.facility.power.it_kw * 1000)


def test_racks_stand_on_the_floor_and_are_as_high_as_they_are() -> None:
    """42 U beside 48 U: each unit is as large, the lowest machine as far from the end, and words stand above."""
    planned_ = planned_site()
    first, second, *_ = planned_.facility.racks
    racks = (replace(first, height=42), replace(second, height=48))
    document = shown(replace(planned_, facility=replace(planned_.facility, racks=racks)))
    low, high = document.all("svg", data_racks="")
    heights = [float(each.attributes["viewbox"].split()[3]) for each in (low, high)]
    assert (low.number("height"), high.number("height")) == (42, 48)
    assert heights[1] - heights[0] == 6 * 8
    ends = []
    for svg, height in zip((low, high), heights, strict=True):
        lowest = svg.all("rect", data_machine="")[0]
        ends.append(height - float(lowest.attributes["y"]) - float(lowest.attributes["height"]))
        assert all(float(each.attributes["y"]) > 0 for each in svg.all("rect", data_machine=""))
    assert ends[0] == ends[1] == pytest.approx(4, abs=0.1)
    figures = [each for each in document.all("figure") if each.all("svg", data_racks="")]
    assert [child.tag for child in figures[0].children] == ["figcaption", "svg"]
    assert f"{first.units} of 42 U" in figures[0].words()


@pytest.mark.parametrize("amperes", [60, 16])
def test_rack_power_is_listed_by_circuit(amperes: int) -> None:
    """The loads of a feed's circuits add up to the rack. A node of 10.2 kW takes two circuits of 9.2 kW."""
    planned_ = planned_site({"facility.circuit.amperes": amperes})
    assert not any(rack.overloads for rack in planned_.facility.racks)
    rows = [row for row in shown(planned_).all("section", id="racks")[0].all("tr") if row.all("td")]
    for row, rack in zip(rows, planned_.facility.racks, strict=True):
        cells = [cell.words() for cell in row.all("td")]
        assert cells[4] == f"{rack.kw:.1f}"
        assert len(cells[6].split(", ")) == rack.circuits
        assert sum(map(float, cells[6].split(", "))) == pytest.approx(rack.kw, abs=0.05 * rack.circuits + 0.01)


@pytest.mark.parametrize("planned_", [planned("prod", MODEL), planned_metal(MODEL)], ids=["aws", "metal"])
def test_memory_is_drawn_to_scale(planned_: AwsPlan | MetalPlan) -> None:
    """Each part of a run's and of a service's memory, as wide as its share."""
    document = shown(planned_)
    bars = document.all("svg", data_capacity_gb="")
    assert len(bars) == len(planned_.runs) + len(planned_.services)
    memory = next(iter(planned_.runs.values())).training.memory  # type: ignore[union-attr]
    parts = {each.attributes["data-part"]: each for each in bars[0].all("rect", data_part="")}
    assert parts["Activations"].number("gb") == pytest.approx(memory.activations_gb, abs=1e-6)
    assert parts["Optimizer"].number("gb") == pytest.approx(memory.optimizer_gb, abs=1e-6)
    assert sum(each.number("gb") for each in parts.values()) == pytest.approx(memory.total_gb, abs=1e-5)
    most = max(memory.total_gb, memory.gpu_gb)
    assert float(parts["Reserve"].attributes["width"]) == pytest.approx(1000 * memory.reserve_gb / most, abs=0.06)
    for bar, service in zip(bars[len(planned_.runs) :], planned_.services.values(), strict=True):
        sizes = {each.attributes["data-part"]: each.number("gb") for each in bar.all("rect", data_part="")}
        assert sizes["Weights"] == service.weights_gb


def test_memory_that_does_not_fit_says_by_how_much() -> None:
    """The bar runs past the GPU, and the words say so."""
    planned_ = planned("prod", {**MODEL, "training.runs.0.microBatch": 16})
    memory = planned_.runs["llama-3-70b-pretrain"].training.memory  # type: ignore[union-attr]
    assert memory.total_gb > memory.gpu_gb
    assert f"{memory.total_gb - memory.gpu_gb:.1f} GB too many" in shown(planned_).words()


def test_cost_over_the_years_is_the_plans() -> None:
    """Owning begins at the purchase, renting at nothing; both end at the comparison's fifth year."""
    planned_ = planned_metal()
    assert planned_.cloud is not None
    curves = {each.attributes["data-curve"]: each for each in shown(planned_).all("path", data_curve="")}
    owned, rented = (
        [tuple(map(float, point.split(","))) for point in curves[name].attributes["data-points"].split()]
        for name in ("owned", "rented on AWS on demand")
    )
    assert owned[0] == pytest.approx((0, planned_.owned.purchase.usd), rel=1e-4)
    assert rented[0] == (0, 0)
    assert owned[-1] == pytest.approx((5, planned_.cloud.years[-1].owned_usd), rel=1e-4)
    assert rented[-1] == pytest.approx((5, planned_.cloud.years[-1].cloud_usd), rel=1e-4)


def test_cost_has_the_range_of_its_prices() -> None:
    """The band holds the curve, and ends at the sums of the least and the most prices."""
    planned_ = planned_metal()
    (band,) = shown(planned_).all("path", data_band="owned")
    points = [tuple(map(float, point.split(","))) for point in band.attributes["data-points"].split()]
    after = planned_.owned.over(5)
    assert points[-1] == pytest.approx((5, after.low, after.high), rel=1e-4)
    assert all(low < planned_.owned.over(years).usd < high for years, low, high in points)
    words = next(each for each in shown(planned_).all("svg", role="img") if "years" in each.children[0].words()).words()
    assert f"{after.low:,.0f} to {after.high:,.0f}" in words
    assert planned_.cloud is not None
    (rented,) = shown(planned_).all("path", data_band="rented on AWS on demand")
    last = [float(part) for part in rented.attributes["data-points"].split()[-1].split(",")]
    cloud = planned_.cloud
    hours = 5 * 8760
    assert last == pytest.approx(
        [5, cloud.cloud_low_usd_per_hour * hours, cloud.cloud_high_usd_per_hour * hours], rel=1e-4
    )
    assert cloud.cloud_low_usd_per_hour <= cloud.cloud_usd_per_hour < cloud.cloud_high_usd_per_hour
    assert cloud.cloud_high_usd_per_hour == pytest.approx(8 * 75.955, rel=1e-4)


def test_a_band_stays_on_the_paper() -> None:
    """Of ten times what the curve reaches, too."""
    wide = Curve(name="some", points=[(0, 1), (5, 2)], band=[(0, 0, 10), (5, 1, 20)])
    document = read(curves("c", "t", "s", [wide], Axis(name="x"), Axis(name="y")))
    (band,) = document.all("path", data_band="some")
    heights = [float(part.split()[1]) for part in band.attributes["d"].strip("MZ").split(" L")]
    assert 0 < min(heights) < max(heights) <= 240
    assert "some, with the range of its prices" in document.words()


def test_a_step_is_drawn_to_scale() -> None:
    """A17: each phase and the bubble as wide as its time; the table has their numbers and formulas."""
    planned_ = planned_metal(
        {**MODEL, "training.runs.0.parallelism": {"pipeline": 4}, "training.runs.0.accumulation": 6}
    )
    forecast = planned_.runs["llama-3-70b-pretrain"].forecast
    assert forecast is not None
    assert forecast.step is not None
    step, document = forecast.step, shown(planned_)
    (svg,) = [each for each in document.all("svg", role="img") if each.all("rect", data_seconds="")]
    widths = {each.attributes["data-part"]: float(each.attributes["width"]) for each in svg.all("rect", data_part="")}
    times = {str(each.phase): each.seconds for each in step.phases} | {"bubble": step.bubble_s}
    assert set(widths) == {name for name, took in times.items() if took}
    assert widths == pytest.approx({name: 1000 * times[name] / step.seconds for name in widths}, abs=0.06)
    assert sum(widths.values()) == pytest.approx(1000, abs=0.4)
    boxes = svg.all("rect", data_part="")
    ends = [float(each.attributes["x"]) + float(each.attributes["width"]) for each in boxes]
    assert [float(each.attributes["x"]) for each in boxes[1:]] == pytest.approx(ends[:-1], abs=0.11)
    (listed,) = [each for each in document.all("table") if "A step by phase" in each.children[0].words()]
    rows = {row.all("td")[0].words(): [cell.words() for cell in row.all("td")] for row in listed.all("tr")[1:]}
    assert set(rows) == {*map(str, Phase), "bubble"}
    assert rows["backward"][5] == FORMULAS[Phase.BACKWARD]
    assert rows["bubble"][1] == seconds(step.bubble_s)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0 s"), (0.0094, "9.4 ms"), (3.2e-6, "3.2 us"), (1.0, "1 s"), (99.96, "100 s"), (4321, "4,321 s")],
)
def test_times_as_they_are_read(value: float, written: str) -> None:
    """Three digits and no powers of ten."""
    assert seconds(value) == written


def test_what_is_left_to_do_stands_first() -> None:
    """I02: what is missing, then what somebody has to confirm, then what follows from the stack."""
    (listed,) = [each for each in shown(planned_metal()).all("table") if "checklist" in each.children[0].words()]
    states = [row.all("td")[0].words() for row in listed.all("tr")[1:]]
    assert len(states) == len(planned_metal().checklist)
    assert states == sorted(states, key=["missing", "to confirm", "derived"].index)
    assert len(set(states)) > 1


def test_hourly_prices_add_up() -> None:
    """The bars of a stack on AWS sum to its price an hour."""
    planned_ = planned("prod")
    bars = shown(planned_).all("g", data_value="")
    assert sum(each.number("value") for each in bars) == pytest.approx(planned_.prices.hourly, rel=1e-4)


def test_checkpoint_curve_is_lowest_at_youngs_interval() -> None:
    """MTTF and pause of the run; its own interval of 30 minutes is marked."""
    planned_ = planned("prod", MODEL)
    training = planned_.runs["llama-3-70b-pretrain"].training
    assert training is not None
    assert training.best_checkpoint_seconds is not None
    (curve,) = shown(planned_).all("path", data_curve="pause of 60 s, as allowed")
    points = [tuple(map(float, point.split(","))) for point in curve.attributes["data-points"].split()]
    lowest = min(points, key=lambda point: point[1])
    assert lowest[0] * 60 == pytest.approx(training.best_checkpoint_seconds, rel=0.06)
    assert lowest[1] == pytest.approx(100 * (2 * 60 / (training.mttf.hours * 3600)) ** 0.5, rel=0.01)
    assert 30 in [each.number("x") for each in shown(planned_).all("line", data_x="")]


def test_totals_and_findings_stand_on_top() -> None:
    """A refused stack says so, and each finding has its causes behind it."""
    planned_ = planned("prod", {"pools.1.count": 6})
    document = shown(planned_)
    totals = {each.attributes["data-total"]: each.number("value") for each in document.all("li", data_total="")}
    assert totals["gpus"] == planned_.totals.gpus
    assert "the stack is refused" in document.all("header")[0].words()
    (section,) = document.all("section", id="findings")
    folded = section.all("details")
    assert len(folded) == len(planned_.findings)
    first, finding = folded[0].words(), planned_.errors[0]
    for said in (finding.rule, finding.sentence, finding.remedy, finding.path, *finding.inputs.values()):
        assert said in first
    assert "open" in folded[0].attributes


@pytest.mark.parametrize("field", ["rule", "path", "sentence", "remedy", "subject", "waiver"])
def test_no_word_of_a_finding_is_markup(field: str) -> None:
    """Scripts, quotes and closing tags in any word stay words."""
    planned_ = planned("prod")
    changes: dict[str, Any] = {field: HOSTILE}
    hostile = replace(planned_, findings=tuple(replace(each, **changes) for each in planned_.findings[:1]))
    check_harmless(page("some", hostile))


def test_no_name_of_a_stack_is_markup() -> None:
    """Names of the stack, pools, runs, services, items and prices."""
    cloud, metal = planned("prod", MODEL), planned_metal(MODEL)
    pools = {HOSTILE: replace(cloud.pools["training"], name=HOSTILE, hardware=HOSTILE)}
    run, service = next(iter(cloud.runs.values())), next(iter(cloud.services.values()))
    runs = {HOSTILE: replace(run, name=HOSTILE, pool=HOSTILE, queue=HOSTILE)}
    services = {HOSTILE: replace(service, name=HOSTILE, pool=HOSTILE)}
    lines = tuple(replace(each, name=HOSTILE, basis=HOSTILE) for each in cloud.prices.lines)
    by_purpose = {HOSTILE: 1.0}
    prices = replace(cloud.prices, lines=lines, by_purpose=by_purpose, unpriced=(HOSTILE,), assumptions=(HOSTILE,))
    bom = replace(cloud.bom, lines=tuple(replace(each, item=HOSTILE, note=HOSTILE) for each in cloud.bom.lines))
    gates, sharing = {HOSTILE: cloud.gates["training"]}, {HOSTILE: cloud.sharing["inference"]}
    named = replace(cloud, pools=pools, gates=gates, runs=runs, services=services, sharing=sharing)
    check_harmless(page(HOSTILE, replace(named, prices=prices, bom=bom)))
    machine = replace(metal.facility.machines[0], name=HOSTILE)
    rack = replace(metal.facility.racks[0], machines=(f"{HOSTILE}-0",), on_circuits=((f"{HOSTILE}-0",),))
    facility = replace(metal.facility, machines=(machine,), racks=(rack,), misfits=(HOSTILE,))
    check_harmless(page(HOSTILE, replace(metal, facility=facility)))


def check_harmless(text: str) -> None:
    document = read(text)
    assert not document.all("script")
    assert not document.all("img")
    assert not [key for each in document.all() for key in each.attributes if key.startswith("on")]
    assert HOSTILE in document.words()


@given(st.text())
def test_text_comes_back_as_it_was(text: str) -> None:
    """Through text and attribute, but for characters that no document may hold."""
    node = read(element("p", text, data_x=text)).children[0]
    expected = re.sub(r"[\x00-\x08\x0b-\x1f]", "�", text)
    assert (node.text, node.attributes["data-x"]) == (expected, expected)


def test_markup_is_kept_and_text_is_not() -> None:
    """What was built of elements is not escaped twice."""
    inner = element("b", "a<b")
    assert inner == "<b>a&lt;b</b>"
    assert element("p", inner, "<i>", None) == "<p><b>a&lt;b</b>&lt;i&gt;</p>"
    assert isinstance(table("c", ("h",), [("<td>",)]), Markup)


@pytest.mark.parametrize("name", [*preset_names(), "dev", "prod", "lab", "metal"])
def test_every_page_is_whole(name: str) -> None:
    """Nothing is loaded from elsewhere or run, and links lead to one's own machine; ids are used once; each drawing has
    its words, each table a caption.
    """
    if name in preset_names():
        sections = {"preset": name, "lifecycle": {"owner": "nobody", "costCentre": "none"}}
        planned_: AwsPlan | MetalPlan = plan(from_sections(sections), today=TODAY)
    else:
        planned_ = planned_metal() if name == "metal" else planned(name)
    text = page(name, planned_)
    document = read(text)
    ids = [each.attributes["id"] for each in document.all(id="")]
    assert len(ids) == len(set(ids))
    assert not document.all("script") + document.all("link") + document.all("img")
    assert not [each for each in document.all() if {"src", "href"} & each.attributes.keys() and each.tag != "a"]
    assert all(each.attributes["href"].startswith("http://localhost:3000/d/") for each in document.all("a"))
    assert "url(" not in text
    for drawing in document.all("svg", role="img"):
        assert drawing.children[0].tag == "title"
        assert drawing.children[1].tag == "desc"
        assert drawing.children[1].words()
        assert set(drawing.attributes["aria-labelledby"].split()) <= set(ids)
    assert all(each.children[0].tag == "caption" for each in document.all("table"))


def test_4096_nodes_are_drawn_whole() -> None:
    """In under 5 MB; `make bench` measures its time."""
    planned_ = planned_site({"pools.1.count": 4096, "training.runs.0.nodes": 4096, "facility.racks.count": 4000})
    text = page("large", planned_)
    assert len(text.encode()) < 5_000_000
    svg = read(text).all("svg", data_leaves="")[0]
    assert tier(svg, "node") == 4096


def test_the_readmes_picture_is_drawn_from_the_stack_on_metal() -> None:
    """`make picture` writes what is committed: well-formed, small, and of today's plan."""
    drawn = picture(planned_metal())
    assert (ROOT / PICTURE).read_text(encoding="utf-8") == drawn
    drawing = ElementTree.fromstring(drawn)  # noqa: S314
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(drawn) < 50_000
    assert str(PICTURE) in (ROOT / "README.md").read_text(encoding="utf-8")


def colours(scheme: str) -> dict[str, str]:
    """The variables of the light or the dark scheme."""
    from planner.faces.page.elements import COLOURS

    light, dark = COLOURS.split("@media")
    return dict(re.findall(r"--(\w+): (#\w+)", {"light": light, "dark": dark}[scheme]))


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme: str) -> None:
    """Words on paper and on boxes have 4.5 to 1 (WCAG 2.2, 1.4.3)."""
    found = colours(scheme)
    pairs = [
        (found[word], found[paper])
        for word in ("ink", "soft", "error", "warning", "good")
        for paper in ("paper", "raised")
    ]
    pairs += [(found["on"], found[f"c{index}"]) for index in range(7)]
    for one, other in pairs:
        dark, light = sorted((luminance(one), luminance(other)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (one, other)
