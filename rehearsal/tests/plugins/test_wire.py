"""Property values on the wire: what goes in comes out, and no secret is ever sent in clear."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from rehearsal.plugins.wire import (
    ARCHIVE,
    OUTPUT,
    RESOURCE,
    SECRET,
    SIGNATURE,
    UNKNOWN,
    decode,
    encode,
    has_unknown,
    path_text,
    without_unknowns,
)
from rehearsal.tests.plugins.driver import in_clear

keys = some.text(min_size=1, max_size=6).filter(lambda key: not key.startswith("__") and key != SIGNATURE)
scalars = some.none() | some.booleans() | some.integers(-(2**53), 2**53) | some.text(max_size=6)
values = some.recursive(
    scalars, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(keys, inner, max_size=3), max_leaves=12
)


@given(some.dictionaries(keys, values, max_size=4))
def test_values_survive_the_wire(properties: dict[str, Any]) -> None:
    assert decode(encode(properties)) == (properties, set())


@given(some.dictionaries(keys, values, min_size=1, max_size=4), some.data())
def test_a_secret_path_hides_its_value(properties: dict[str, Any], data: some.DataObject) -> None:
    key = data.draw(some.sampled_from(sorted(properties)))
    decoded, secrets = decode(encode(properties, [(key,)]))
    assert decoded == properties
    assert secrets == {(key,)}


def test_integral_numbers_are_integers() -> None:
    decoded, _ = decode(encode({"whole": 3.0, "part": 0.5, "yes": True}))
    assert decoded == {"whole": 3, "part": 0.5, "yes": True}
    assert isinstance(decoded["whole"], int)
    assert decoded["yes"] is True


def test_bookkeeping_is_left_out() -> None:
    decoded, _ = decode(encode({"__defaults": ["a"], "__meta": "x", "spec": {"__defaults": [], "__x": 1}}))
    assert decoded == {"spec": {"__x": 1}}


def test_nested_secrets_keep_their_paths() -> None:
    properties = {"data": {"token": "s3cret"}, "list": [1, {"password": "s3cret"}]}
    secrets = {("data", "token"), ("list", 1, "password")}
    struct = encode(properties, secrets)
    assert not in_clear(struct, "s3cret")
    assert decode(struct) == (properties, secrets)


@pytest.mark.parametrize("changed", [{"data": "s3cret"}, {"data": ["s3cret"]}, {"data": [{"x": "s3cret"}, "s3cret"]}])
def test_a_secret_in_another_shape_stays_secret(changed: dict[str, Any]) -> None:
    assert not in_clear(encode(changed, [("data", "token")]), "s3cret")


def test_a_secret_that_is_gone_marks_nothing() -> None:
    assert decode(encode({"data": {"other": "x"}}, [("data", "token")])) == ({"data": {"other": "x"}}, set())


def test_outputs_and_references_become_plain_values() -> None:
    known = {SIGNATURE: OUTPUT, "value": "v", "secret": True}
    reference = {SIGNATURE: RESOURCE, "urn": "urn:x", "id": "vpc-1"}
    decoded, secrets = decode(encode({"known": known, "unknown": {SIGNATURE: OUTPUT}, "vpc": reference}))
    assert decoded == {"known": "v", "unknown": UNKNOWN, "vpc": "vpc-1"}
    assert secrets == {("known",)}


def test_an_archive_stays_what_it_was() -> None:
    archive = {SIGNATURE: ARCHIVE, "hash": "h", "path": "./chart"}
    assert decode(encode({"chart": archive})) == ({"chart": archive}, set())


def test_a_secret_unknown_is_unknown_and_secret() -> None:
    decoded, secrets = decode(encode({"x": {SIGNATURE: SECRET, "value": UNKNOWN}}))
    assert decoded == {"x": UNKNOWN}
    assert secrets == {("x",)}


def test_unknowns_are_found_and_left_out() -> None:
    value = {"a": [1, UNKNOWN], "b": {"c": UNKNOWN, "d": 2}}
    assert has_unknown(value)
    assert without_unknowns(value) == {"a": [1], "b": {"d": 2}}
    assert not has_unknown(without_unknowns(value))


def test_what_cannot_be_sent_is_named() -> None:
    with pytest.raises(TypeError, match=r"spec\.ports\[0\]: a bytes cannot"):
        encode({"spec": {"ports": [b"x"]}})


def test_paths_read_as_pulumi_writes_them() -> None:
    assert path_text(("spec", "ports", 0, "name")) == "spec.ports[0].name"
    assert path_text(("metadata", "labels", "app.kubernetes.io/name")) == 'metadata.labels["app.kubernetes.io/name"]'
