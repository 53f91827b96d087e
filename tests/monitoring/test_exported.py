"""Every metric that a rule reads is one that the deployed exporter exports (U02, U10)."""

from collections.abc import Iterator

import promql_parser
import pytest

from monitoring.counters import DCGM_COUNTERS, dcgm_csv
from monitoring.failures import failures
from monitoring.recording import recorded
from monitoring.rule import names
from rehearsal.tests.vendors import listed_metrics
from tests.monitoring.exported import COUNTER, EXPORTERS, exported
from tests.monitoring.healthy import LIMITS, healthy
from tests.monitoring.queries import metrics, nodes

RULES = {f"{rule.name} {dict(rule.constant)}": rule.expression for g in recorded(LIMITS) for rule in g.rules}
OURS = names(recorded(LIMITS)).keys()
RATES = {"rate", "increase", "irate"}
BESIDE_THE_LISTS = {
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT",
    "DCGM_FI_DEV_GPU_TEMP_LIMIT",
    "DCGM_FI_DEV_PCIE_LINK_WIDTH",
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH",
    "DCGM_FI_DEV_ROW_REMAP_PENDING",
    "DCGM_FI_PROF_NVLINK_RX_BYTES",
    "DCGM_FI_PROF_NVLINK_TX_BYTES",
}
"""Fields of DCGM that the exporter's example files do not name; go-dcgm's const_fields.go has them."""


def unknown(query: str) -> set[str]:
    """Metrics that no exporter has."""
    return metrics(query) - exported() - OURS


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_reads_what_is_exported(rule: str) -> None:
    assert unknown(RULES[rule]) == set()


def test_a_renamed_metric_is_found() -> None:
    """dcgm-exporter 4.9 calls the temperature DCGM_FI_DEV_GPU_TEMP_CELSIUS, and vLLM has renamed its cache's use."""
    assert unknown("max by (node) (DCGM_FI_DEV_GPU_TEMP_CELSIUS)") == {"DCGM_FI_DEV_GPU_TEMP_CELSIUS"}
    assert unknown("rate(foo_total[5m]) / vllm:gpu_cache_usage_perc") == {"foo_total", "vllm:gpu_cache_usage_perc"}


def asked() -> list[str]:
    """The queries of the pages."""
    return [action.query for failure in failures() for action in failure.actions if action.query]


def test_what_pages_tell_to_ask_is_exported() -> None:
    assert len(asked()) > 10
    assert {name for query in asked() for name in unknown(query)} == set()


def test_nothing_is_listed_that_nobody_reads() -> None:
    """A list that is longer than what rules and pages read would hide a name that went."""
    read = {name for query in RULES.values() for name in metrics(query)}
    read |= {name for query in asked() for name in metrics(query)}
    dcgm = {each.field for each in DCGM_COUNTERS}
    for exporter in EXPORTERS:
        unread = {name for name in exporter.metrics if not any(each.startswith(name) for each in read)} - dcgm
        assert unread == set(), exporter.name


def test_every_counter_that_is_exported_is_read() -> None:
    """Each field costs a series for each GPU."""
    read = {name for query in RULES.values() for name in metrics(query)}
    assert {each.field for each in DCGM_COUNTERS if each.kind != "label"} - read == set()


def _rated() -> Iterator[str]:
    for query in RULES.values():
        for node in nodes(query):
            if isinstance(node, promql_parser.Call) and node.func.name in RATES:
                for argument in node.args:
                    yield from metrics(argument.prettify())


def test_rates_are_taken_of_counters() -> None:
    """The rate of a gauge is a number that means nothing, and looks like one that does."""
    counters = {name for each in EXPORTERS for name, kind in each.metrics.items() if kind in (COUNTER, "histogram")}
    rated = {name for name in _rated() if not name.startswith("gpucluster:")}
    assert rated
    assert {name for name in rated if not any(name.startswith(each) for each in counters)} == set()


def test_the_exporter_can_read_its_list_dc10() -> None:
    """Three fields in a line, no quotes; XIDs and clock events are counts over a window that slides, so gauges."""
    lines = [line.split(", ") for line in dcgm_csv().splitlines()]
    assert all(len(line) == 3 and "," not in "".join(line) for line in lines)
    assert {line[1] for line in lines} <= {"gauge", "counter", "label"}
    kinds = {line[0]: line[1] for line in lines}
    assert len(kinds) == len(lines)
    assert kinds["DCGM_EXP_XID_ERRORS_COUNT"] == kinds["DCGM_EXP_CLOCK_EVENTS_COUNT"] == "gauge"
    assert kinds["DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"] == "counter"


def test_the_healthy_cluster_shows_what_is_exported() -> None:
    """A test of an alert on series that no exporter has would prove nothing."""
    assert {series.partition("{")[0] for series in healthy()} - exported() == set()


@pytest.mark.parametrize(
    ("exporter", "prefix"),
    [("dcgm-exporter", "DCGM_"), ("node_exporter", "node_infiniband_"), ("vllm", "vllm:"), ("ceph", "ceph_")],
)
def test_our_lists_agree_with_the_vendors(exporter: str, prefix: str) -> None:
    """Where the vendors' list has the family, it has each of our names, and does not call it removed."""
    ours = next(each.metrics for each in EXPORTERS if each.name == exporter)
    theirs = listed_metrics()
    names_of_family = {name for name in ours if name.startswith(prefix)} - BESIDE_THE_LISTS
    assert names_of_family - theirs.keys() == set()
    assert {name for name in names_of_family if theirs[name]["type"] == "removed"} == set()
