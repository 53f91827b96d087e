"""What the kubernetes plugin calls a change, and which changes replace."""

from typing import Any

import pytest

from rehearsal.plugins.kubernetes.diff import ADD, DELETE, UPDATE, differences, response, unignored
from rehearsal.plugins.kubernetes.replacement import delete_first, forcing, replaced
from rehearsal.plugins.kubernetes.settings import ProviderSettings


def test_differences_name_the_leaves() -> None:
    old = {"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": None}
    new = {"a": True, "b": {"c": [1, 3, 4]}, "f": 1}
    assert differences(old, new) == {
        ("a",): UPDATE,
        ("b", "c", 1): UPDATE,
        ("b", "c", 2): ADD,
        ("b", "d"): DELETE,
        ("e",): DELETE,
        ("f",): ADD,
    }
    assert differences(old, old) == {}


def test_ignored_paths_cover_what_lies_below_but_no_namesakes() -> None:
    changes = {("spec", "replicas"): UPDATE, ("spec", "replicasMax"): UPDATE, ("spec", "t", 0, "x"): UPDATE}
    assert list(unignored(changes, ["spec.replicas", "spec.t"])) == [("spec", "replicasMax")]


def test_response_quotes_keys_with_dots_and_marks_replacements() -> None:
    answer = response({("metadata", "labels", "a.b/c"): ADD, ("data", "k"): UPDATE}, [("data", "k")], True)
    assert set(answer.detailedDiff) == {'metadata.labels["a.b/c"]', "data.k"}
    assert list(answer.replaces) == ["data.k"]
    assert answer.changes == answer.DIFF_SOME


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "expected"),
    [
        ("apps/v1", "Deployment", ("spec", "selector", "matchLabels", "app"), True),
        ("apps/v1", "Deployment", ("spec", "replicas"), False),
        ("batch/v1", "Job", ("spec", "template", "spec", "containers", 0, "image"), True),
        ("batch/v1", "Job", ("spec", "suspend"), False),
        ("v1", "ConfigMap", ("data", "a"), True),
        ("v1", "Secret", ("stringData", "a"), True),
        ("v1", "PersistentVolume", ("spec", "csi", "volumeHandle"), True),
        ("v1", "PersistentVolume", ("spec", "capacity", "storage"), False),
        ("v1", "PersistentVolumeClaim", ("spec", "storageClassName"), True),
        ("v1", "Service", ("spec", "ports", 0, "port"), False),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", ("roleRef", "name"), True),
        ("example.com/v1", "Deployment", ("spec", "selector"), False),
        ("example.com/v1", "Anything", ("metadata", "name"), True),
        ("example.com/v1", "Anything", ("metadata",), True),
    ],
)
def test_which_changes_replace(api_version: str, kind: str, path: tuple[str | int, ...], expected: bool) -> None:
    fields = forcing({"apiVersion": api_version, "kind": kind}, ProviderSettings())
    assert bool(replaced([path], fields)) is expected


def test_mutable_settings_spare_config_maps_and_secrets_unless_immutable() -> None:
    mutable = ProviderSettings(config_map_mutable=True, secret_mutable=True)
    for kind, field in (("ConfigMap", "data"), ("Secret", "stringData")):
        obj: dict[str, Any] = {"apiVersion": "v1", "kind": kind}
        assert not replaced([(field, "a")], forcing(obj, mutable))
        assert replaced([(field, "a")], forcing({**obj, "immutable": True}, mutable))


def test_delete_first_only_when_the_program_fixes_the_name() -> None:
    def obj(name: str, **annotations: str) -> dict[str, Any]:
        return {"kind": "Job", "metadata": {"name": name, "namespace": "n", "annotations": annotations}}

    assert delete_first(obj("a"), obj("a"))
    assert not delete_first(obj("a"), obj("b"))
    assert not delete_first(obj("a"), obj("a", **{"pulumi.com/autonamed": "true"}))
