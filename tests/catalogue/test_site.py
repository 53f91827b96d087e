"""A site's own rows in the catalogue (B01)."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from catalogue.site import KINDS, with_site_rows
from catalogue.tables import SHIPPED
from catalogue.types import Price, UsageClass
from settings.errors import SettingsError
from settings.load import from_sections
from settings.model import AwsSettings
from settings.row_bounds import bounds
from tests.planner.stacks import DEAR, planned, rules, sections

ROW = {
    "name": "p5.96xlarge",
    "like": "p5.48xlarge",
    "gpu": "H200",
    "vcpu": 384,
    "onDemand": {
        "usdPerHour": 70,
        "low": 60,
        "high": 80,
        "asOf": "2026-11-01",
        "source": "our contract",
    },
}


def site(**tables: list[dict[str, Any]]) -> AwsSettings:
    settings = from_sections({**sections(), "catalogue": tables})
    assert isinstance(settings, AwsSettings)
    return settings


def test_a_row_starts_from_the_one_it_is_like() -> None:
    """B01: what a row does not say is the shipped row's; a GPU is named, a price is written out."""
    sited = with_site_rows(SHIPPED, site(instances=[ROW]).catalogue.tables())
    assert sited.problems == ()
    row, like = sited.catalogue.instances["p5.96xlarge"], SHIPPED.instances["p5.48xlarge"]
    assert (row.vcpu, row.gpu) == (384, SHIPPED.gpus["H200"])
    assert isinstance(row.on_demand, Price)
    assert row.on_demand.high == 80
    assert replace(row, type=like.type, vcpu=like.vcpu, gpu=like.gpu, on_demand=like.on_demand) == like
    assert "p5.96xlarge" not in SHIPPED.instances


def test_a_shipped_row_is_replaced_by_one_of_its_name() -> None:
    """B01: a site that measured otherwise overrides the row, for everything that names it too."""
    settings = site(gpus=[{"name": "H100", "like": "H100", "memoryGb": 96}], instances=[{**ROW, "gpu": "H100"}])
    catalogue = with_site_rows(SHIPPED, settings.catalogue.tables()).catalogue
    assert catalogue.gpus["H100"].memory_gb == 96
    gpu = catalogue.instances["p5.96xlarge"].gpu
    assert gpu is not None
    assert gpu.memory_gb == 96
    assert gpu.driver_gb == pytest.approx(96 * 0.99 * 2**30 / 1e9), "and not what the driver reports of 80"


def test_a_complete_row_needs_no_other() -> None:
    """B01: cards and usage classes as written; NVMe and defaults left out."""
    row = {
        "name": "x1.large",
        "vcpu": 8,
        "memoryGib": 64,
        "cards": [{"index": 0, "efa": True, "maxInterfaces": 4}],
        "addressesPerInterface": 15,
        "networkGbitPerS": 25,
        "usageClasses": ["on-demand"],
        "source": "our private zone",
    }
    sited = with_site_rows(SHIPPED, site(instances=[row]).catalogue.tables())
    assert sited.problems == ()
    made = sited.catalogue.instances["x1.large"]
    assert made.usage_classes == frozenset({UsageClass.ON_DEMAND})
    assert (made.cards[0].efa, made.nvme, made.gpu_count) == (True, None, 0)


@pytest.mark.parametrize(
    ("tables", "path", "sentence"),
    [
        (
            {"instances": [{**ROW, "like": "p5.48xlage"}]},
            ("instances", 0, "like"),
            "no shipped row is called 'p5.48xlage'; did you mean p5.48xlarge?",
        ),
        (
            {"instances": [{**ROW, "gpu": "H300"}]},
            ("instances", 0, "gpu"),
            "the catalogue has no Gpu 'H300'; did you mean H200?",
        ),
        (
            {"gpus": [{"name": "X", "product": "NVIDIA-X"}]},
            ("gpus", 0),
            "lacks memoryGb, memoryTbPerS, computeCapability, fp16Tflops, tdpW, source; add them, or name a shipped "
            "row with like",
        ),
        (
            {"instances": [{**ROW, "onDemand": {**ROW["onDemand"], "low": 75}}]},  # type: ignore[dict-item]
            ("instances", 0, "onDemand"),
            "the price of 70 USD lies outside the range it was seen in, 75 to 80; correct the row",
        ),
        (
            {"instances": [ROW, ROW]},
            ("instances", 1, "name"),
            "'p5.96xlarge' stands here twice; keep one of the rows",
        ),
    ],
)
def test_a_row_that_cannot_be_taken_is_a_finding(
    tables: dict[str, list[dict[str, Any]]], path: tuple[str | int, ...], sentence: str
) -> None:
    """B01: where it is, what is wrong, what to do; the rest of the catalogue stands."""
    sited = with_site_rows(SHIPPED, site(**tables).catalogue.tables())
    assert sited.problems == ((path, sentence),)
    plan = planned(changes={f"catalogue.{table}": rows for table, rows in tables.items()})
    assert rules(plan) == ["site-row"]
    assert str(plan.errors[0]).endswith(sentence)


def test_a_row_with_a_wrong_value_is_a_settings_error() -> None:
    """B01: shapes are the settings' business: types, unknown keys, negative numbers."""
    with pytest.raises(SettingsError) as caught:
        site(gpus=[{"name": "X", "memoryGb": -1, "memory": 3}], servers=[{"name": "Y", "cooling": "water"}])
    assert caught.value.problems == (
        "gpucluster:catalogue.gpus[0].memoryGb: must be at least 1, is -1",
        "gpucluster:catalogue.gpus[0].memory: is not a key; did you mean memoryGb?",
        "gpucluster:catalogue.servers[0].cooling: must be air, dlc or immersion, is 'water'",
    )


@pytest.mark.parametrize("table", KINDS)
def test_every_shipped_row_can_be_started_from(table: str) -> None:
    """B01: `like` alone makes a copy under another name, for every table and every row."""
    name = {"services": "prices", "storage_servers": "storageServers"}.get(table, table)
    shipped = getattr(SHIPPED, table)
    sited = with_site_rows(
        SHIPPED, site(**{name: [{"name": f"my {like}", "like": like} for like in shipped]}).catalogue.tables()
    )
    assert sited.problems == ()
    assert set(getattr(sited.catalogue, table)) == {*shipped, *(f"my {like}" for like in shipped)}


def test_a_site_row_reaches_the_plan() -> None:
    """B01: the planner counts with the site's row, its price included."""
    changes = {"catalogue.instances": [{**ROW, "like": "p5.4xlarge"}], "pools.1.instanceType": "p5.96xlarge"}
    plan = planned(changes={**changes, **DEAR})
    assert rules(plan) == []
    assert plan.pools["training"].gpu == SHIPPED.gpus["H200"]
    assert any(line.usd_per_hour == 140 for line in plan.prices.lines)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"cards": []}, ".cards: must have at least 1 entry, has 0"),
        ({"networkGbitPerS": 0}, ".networkGbitPerS: must be more than 0, is 0"),
        ({"addressesPerInterface": 0}, ".addressesPerInterface: must be at least 2, is 0"),
        ({"vcpu": True}, ".vcpu: must be a whole number, is true"),
        ({"gpuCount": 10**14}, ".gpuCount: must be at most 256, is 100000000000000"),
        ({"name": "a\x00b"}, ".name: has the character '\\x00', which is invisible; remove it"),
        ({"name": " "}, ".name: must have at least 1 characters, is ' '"),
    ],
)
def test_absurd_values_of_a_row_end_in_a_sentence(row: dict[str, Any], said: str) -> None:
    """B01: zero, empty lists, booleans, unseen characters; a plan with them would divide by nothing."""
    with pytest.raises(SettingsError) as caught:
        site(instances=[{"name": "p5.48xlarge", "like": "p5.48xlarge", **row}])
    assert caught.value.problems == (f"gpucluster:catalogue.instances[0]{said}",)


@pytest.mark.parametrize("table", KINDS)
def test_every_shipped_row_lies_within_the_bounds_of_rows(table: str) -> None:
    """B01: every number of a row has bounds, and no machine that is sold lies outside."""

    def within(value: Any) -> None:
        for each in value if isinstance(value, tuple) else ():
            within(each)
        for field in fields(value) if is_dataclass(value) else ():
            if isinstance(number := getattr(value, field.name), int | float) and not isinstance(number, bool):
                low, high = bounds(type(value), field.name)
                assert low <= number <= high, (value, field.name)
            within(number)

    for row in getattr(SHIPPED, table).values():
        within(row)


def test_a_gpu_of_the_sites_own_is_in_the_machines_that_have_it() -> None:
    """B01: a row in a shipped one's place acts inside shipped servers and instances too, and in rows like them."""
    gpu = {"name": "H100", "like": "H100", "tdpW": 650}
    server = {"name": "ours", "like": "DGX H100"}
    sited = with_site_rows(SHIPPED, site(gpus=[gpu], servers=[server]).catalogue.tables())
    rows = (sited.catalogue.servers["DGX H100"], sited.catalogue.servers["ours"])
    gpus = [row.gpu for row in (*rows, sited.catalogue.instances["p5.48xlarge"])]
    assert [each.tdp_w if each else None for each in gpus] == [650, 650, 650]
    assert sited.problems == ()


def test_a_card_that_does_not_fit_the_servers_that_have_it_is_refused() -> None:
    """B01: a card with two ports leaves ports of a shipped server without a device, and the rest stands."""
    card = {"name": "ConnectX-7 NDR", "like": "ConnectX-7 NDR", "ports": 2}
    sited = with_site_rows(SHIPPED, site(nics=[card]).catalogue.tables())
    assert sited.problems
    assert all(path == ("nics", 0) for path, _ in sited.problems)
    assert any("does not go into DGX H100" in sentence for _, sentence in sited.problems)
    assert sited.catalogue.servers["DGX H100"] == SHIPPED.servers["DGX H100"]
