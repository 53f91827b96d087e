"""The text of metrics, as the client library's parser reads it."""

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rehearsal.kubelet.exposition import Family, Histogram, family, number, text


def test_what_is_written_is_read_again() -> None:
    labels = {"path": 'C:\\dir "x"\nnext', "empty": ""}
    page = text([family("a_total", "counter", "line one\nline \\ two", (labels, 3.0), ({}, 0.25))])
    (found,) = text_string_to_metric_families(page)
    assert (found.type, found.documentation) == ("counter", "line one\nline \\ two")
    assert [(each.labels, each.value) for each in found.samples] == [(labels, 3.0), ({}, 0.25)]


def test_a_family_without_samples_is_left_out() -> None:
    assert text([Family("a", "gauge", "nothing", [])]) == ""


def test_a_histogram_is_cumulative_and_ends_in_infinity() -> None:
    histogram = Histogram((0.1, 1.0))
    histogram.observe(0.1)
    histogram.observe(0.5, 3)
    histogram.observe(7.0)
    (found,) = text_string_to_metric_families(text([histogram.family("h_seconds", "h", {"engine": "0"})]))
    values = {(each.name, each.labels.get("le")): each.value for each in found.samples}
    assert values == {
        ("h_seconds_bucket", "0.1"): 1.0,
        ("h_seconds_bucket", "1"): 4.0,
        ("h_seconds_bucket", "+Inf"): 5.0,
        ("h_seconds_count", None): 5.0,
        ("h_seconds_sum", None): pytest.approx(8.6),
    }


def test_numbers_keep_their_value() -> None:
    for value in (0.0, 1.0, -3.0, 0.1, 1e-7, 1.5e300, 2**53 + 0.0, 1e15):
        assert float(number(value)) == value
    assert (number(math.inf), number(-math.inf)) == ("+Inf", "-Inf")
