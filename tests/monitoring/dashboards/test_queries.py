"""What the panels ask: queries that parse, of metrics and labels that are there (X03-X08, X14, AB09)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

import promql_parser
import pytest

from monitoring.dashboards import Dashboard
from monitoring.dashboards.grafana import EVERYTHING
from monitoring.limits import Limits, MachineLimits, PoolLimits, RunLimits, ServiceLimits
from monitoring.recording import recorded
from monitoring.rule import names
from monitoring.run_metrics import RUN_METRICS
from rehearsal.tests.vendors import listed_metrics
from tests.monitoring.dashboards.boards import PLANS, boards
from tests.monitoring.dashboards.exported import READ_BY_PANELS
from tests.monitoring.exported import exported
from tests.monitoring.queries import metrics, nodes, selectors

_STRETCH = {"$__rate_interval": "2m"}
RECORDED: Mapping[str, tuple[str, ...]] = names(
    recorded(
        Limits(
            pools=(PoolLimits(name="p", gpus_per_node=8),),
            machines=(MachineLimits(pool="p", power_supplies=6, inlet_c=30),),
            runs=(RunLimits(name="r", pool="p", nodes=2, tokens_per_s=1.0, mfu=0.4, checkpoint_s=60),),
            services=(ServiceLimits(name="s", most=2),),
        )
    )
)
PANELS_OWN = {series for exporter in READ_BY_PANELS for series in exporter.metrics}

WANTED: Mapping[str, set[str]] = {
    "cluster": {
        "ALERTS",
        "gpucluster:node:ready",
        "gpucluster:node:gpus_allocatable",
        "gpucluster:node:cpu_utilisation_ratio",
        "gpucluster:node:memory_available_ratio",
        "gpucluster:node:filesystem_free_ratio",
        "gpucluster:queue:gangs_pending",
        "gpucluster:target:down",
    },
    "pool": {
        "gpucluster:gpu:temperature_celsius",
        "gpucluster:gpu:temperature_margin_celsius",
        "gpucluster:gpu:power_watts",
        "gpucluster:gpu:utilisation_ratio",
        "gpucluster:gpu:memory_used_bytes",
        "gpucluster:gpu:clock_event_samples",
        "gpucluster:gpu:xid_errors",
        "gpucluster:gpu:ecc_uncorrectable_errors",
        "gpucluster:gpu:row_remap_pending",
        "gpucluster:gpu:nvlink_errors",
        "gpucluster:gpu:pcie_replays",
    },
    "run": {
        "gpucluster:run:step_seconds",
        "gpucluster:run:tokens_per_second",
        "gpucluster:run:mfu_ratio",
        "gpucluster:run:checkpoint_age_seconds",
        "training_step",
        "training_loss",
        "training_checkpoint_pause_seconds",
    },
    "serving": {
        "gpucluster:serving:time_to_first_token_seconds",
        "gpucluster:serving:inter_token_seconds",
        "gpucluster:serving:requests_waiting",
        "gpucluster:serving:kv_cache_usage_ratio",
        "gpucluster:serving:tokens_per_second",
        "gpucluster:serving:replicas_ready",
    },
    "fabric": {
        "gpucluster:fabric:transmitted_bytes_per_second",
        "gpucluster:fabric:received_bytes_per_second",
        "gpucluster:fabric:links_missing",
        "gpucluster:fabric:errors_per_second",
        "gpucluster:fabric:drops_per_second",
    },
    "storage": {
        "gpucluster:shared_files:used_ratio",
        "gpucluster:volume:used_ratio",
        "node_disk_io_time_seconds_total",
        "kube_cronjob_status_last_successful_time",
    },
    "cost": {
        "kube_pod_container_resource_requests",
        "gpucluster:node:pool",
        "kube_pod_labels",
        "volcano_queue_allocated_scalar_resources",
        "gpucluster:run:tokens_per_second",
    },
    "energy": {"gpucluster:gpu:power_watts", "gpucluster:gpu:energy_joules"},
}
"""What each dashboard must not lose."""


def filled(expr: str) -> str:
    """The query as Grafana sends it, with every variable at All."""
    for word, value in _STRETCH.items():
        expr = expr.replace(word, value)
    return re.sub(r"\$[a-z]+", EVERYTHING, expr)


def asked(board: Dashboard) -> Iterator[str]:
    """What the board asks Prometheus: its panels' queries, and those of its variables."""
    yield from (filled(expr) for panel in board.panels() for expr in panel.expressions())
    yield from (filled(variable.metric) for variable in board.variables)


EVERY = [(plan, name) for plan in PLANS for name in boards(plan)]
every_board = pytest.mark.parametrize(("plan", "name"), EVERY, ids=[f"{plan}-{name}" for plan, name in EVERY])


@every_board
def test_every_metric_is_recorded_or_exported(plan: str, name: str) -> None:
    """A name that nobody exports is an empty panel, and nobody notices; a query that does not parse raises here."""
    read = {metric for query in asked(boards(plan)[name]) for metric in metrics(query)} - {""}
    assert read <= set(RECORDED) | exported() | PANELS_OWN


def test_panels_read_all_that_is_listed_for_them() -> None:
    read = {metric for plan, name in EVERY for query in asked(boards(plan)[name]) for metric in metrics(query)}
    assert read >= PANELS_OWN


def test_listed_names_are_the_vendors_own() -> None:
    """Against the vendors' lists where they are at hand; those hold no metric of kube-state-metrics nor of disks."""
    listed = re.compile(r"(volcano_|vllm:|ceph_|node_infiniband_|DCGM_)")
    names_ = {each.removesuffix("_sum").removesuffix("_count") for each in PANELS_OWN if listed.match(each)}
    assert len(names_) >= 12
    assert names_ <= set(listed_metrics())


@every_board
def test_every_matcher_is_a_label_that_the_recorded_name_keeps(plan: str, name: str) -> None:
    for query in asked(boards(plan)[name]):
        for selector in selectors(query):
            if selector.name is not None and selector.name in RECORDED:
                matched = {each.name for each in selector.matchers.matchers} - {"__name__"}
                assert matched <= set(RECORDED[selector.name]), query


@every_board
def test_a_sum_keeps_only_labels_that_its_series_have(plan: str, name: str) -> None:
    """`by (pool)` of a name without pools is one curve without a name."""
    for query in asked(boards(plan)[name]):
        for node in nodes(query):
            inside = node.expr if isinstance(node, promql_parser.AggregateExpr) else None
            modifier = node.modifier if inside is not None else None
            name_ = inside.name if isinstance(inside, promql_parser.VectorSelector) else None
            if name_ in RECORDED and modifier is not None:
                assert set(modifier.labels) <= set(RECORDED[name_ or ""]), query


def kept(node: promql_parser.Expr) -> set[str] | None:
    """The labels that are left by the sum on the outside of a query; None where something else is there."""
    if isinstance(node, promql_parser.ParenExpr):
        return kept(node.expr)
    if isinstance(node, promql_parser.BinaryExpr) and isinstance(node.rhs, promql_parser.NumberLiteral):
        return kept(node.lhs)
    if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
        return set(node.modifier.labels)
    return None


@every_board
def test_a_legend_names_labels_that_are_left(plan: str, name: str) -> None:
    for panel in boards(plan)[name].panels():
        for query in panel.queries:
            left = kept(promql_parser.parse(filled(query.expr)))
            assert left is None or set(re.findall(r"{{(\w+)}}", query.legend)) == left, panel.title


TITLES: Mapping[str, set[str]] = {
    "run": {
        "Time of a step",
        "Tokens per second",
        "Model FLOP utilisation",
        "Lost GPU hours of the last day",
        "Age of the newest checkpoint",
        "Effective training time ratio, last day",
    },
    "serving": {
        "Time to the first token",
        "Time between tokens",
        "Time in the queue",
        "KV cache in use, fullest replica",
        "Tokens per dollar",
    },
    "cost": {
        "By namespace",
        "By run",
        "By service",
        "GPUs by queue",
        "GPUs that nobody holds",
        "Held, the last 30 days",
    },
    "energy": {"GPUs, kWh of the last day", "GPUs, kWh of the last 30 days", "Joules for a trained token"},
}
"""Panels that several metrics make, by their names."""


@pytest.mark.parametrize("name", TITLES)
def test_panels_that_people_ask_for_are_there(name: str) -> None:
    assert {panel.title for panel in boards("prod")[name].panels()} >= TITLES[name]


@pytest.mark.parametrize("name", WANTED)
def test_what_a_dashboard_is_for_is_in_it(name: str) -> None:
    read = {metric for query in asked(boards("prod")[name]) for metric in metrics(query)}
    assert read >= WANTED[name]


def test_all_that_a_run_tells_of_itself_is_shown() -> None:
    """By the run's own names or by those that are recorded of them."""
    read = {metric for query in asked(boards("prod")["run"]) for metric in metrics(query)}
    through = {rule.name: rule.expression for group in recorded(Limits()) for rule in group.rules}
    shown = read | {metric for name in read if name in through for metric in metrics(through[name])}
    assert {each.name for each in RUN_METRICS} <= shown


@every_board
def test_variables_are_used_and_no_others(plan: str, name: str) -> None:
    board = boards(plan)[name]
    texts = [expr for panel in board.panels() for expr in panel.expressions()] + [
        each.metric for each in board.variables
    ]
    used = {word for text in texts for word in re.findall(r"\$([a-z]+)", text)}
    assert used == {variable.name for variable in board.variables}


@every_board
def test_a_legend_tells_the_curves_of_a_panel_apart(plan: str, name: str) -> None:
    for panel in boards(plan)[name].panels():
        said = Counter(query.legend for query in panel.queries)
        assert max(said.values()) == 1, panel.title
