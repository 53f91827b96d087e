"""The client against a real API server."""

import stat
import threading
import time
from pathlib import Path

import pytest

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.tests.kube.control_plane import ControlPlane

pytestmark = pytest.mark.engine


def config_map(namespace: str, name: str = "settings", **data: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data or {"a": "1"},
    }


def test_create_get_list_patch_delete(kube: Kube, namespace: str) -> None:
    made = kube.create(config_map(namespace, a="1"))
    assert made["metadata"]["uid"]
    found = kube.get("v1", "ConfigMap", "settings", namespace)
    assert found is not None
    assert found["data"] == {"a": "1"}
    kube.patch("v1", "ConfigMap", "settings", namespace, {"data": {"b": "2"}})
    listed = kube.list("v1", "ConfigMap", namespace, field_selector="metadata.name=settings")
    assert [(item["kind"], item["data"]) for item in listed] == [("ConfigMap", {"a": "1", "b": "2"})]
    kube.delete(made, uid=made["metadata"]["uid"])
    assert kube.get("v1", "ConfigMap", "settings", namespace) is None
    kube.delete(made)


def test_create_never_takes_an_existing_object(kube: Kube, namespace: str) -> None:
    kube.create(config_map(namespace))
    with pytest.raises(ApiError) as refused:
        kube.create(config_map(namespace))
    assert (refused.value.code, refused.value.reason) == (409, "AlreadyExists")


def test_delete_with_uid_spares_a_namesake(kube: Kube, namespace: str) -> None:
    kube.create(config_map(namespace))
    with pytest.raises(ApiError) as refused:
        kube.delete(config_map(namespace), uid="00000000-0000-0000-0000-000000000000")
    assert refused.value.code == 409
    assert kube.get("v1", "ConfigMap", "settings", namespace) is not None


def test_apply_refuses_unknown_fields_and_foreign_fields(kube: Kube, namespace: str) -> None:
    kube.apply(config_map(namespace, a="1"), manager="one")
    with pytest.raises(ApiError, match="conflict"):
        kube.apply(config_map(namespace, a="2"), manager="two")
    assert kube.apply(config_map(namespace, a="2"), manager="two", force=True)["data"] == {"a": "2"}
    with pytest.raises(ApiError, match="dota"):
        kube.apply({**config_map(namespace), "dota": {}}, manager="one")


def test_dry_run_changes_nothing(kube: Kube, namespace: str) -> None:
    shown = kube.apply(config_map(namespace, a="1"), manager="one", dry_run=True)
    assert shown["data"] == {"a": "1"}
    assert kube.get("v1", "ConfigMap", "settings", namespace) is None


def test_lists_are_read_page_by_page(kube: Kube, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rehearsal.kube.client.PAGE", 2)
    names = [f"page-{number}" for number in range(5)]
    for name in names:
        kube.create(config_map(namespace, name))
    assert set(names) <= {item["metadata"]["name"] for item in kube.list("v1", "ConfigMap", namespace)}


def test_a_kind_that_is_not_served_is_no_match(kube: Kube) -> None:
    for api_version in ("example.com/v1", "apps/v1"):
        with pytest.raises(ApiError) as refused:
            kube.path(api_version, "Rocket")
        assert refused.value.reason == "NoMatch"


def test_paths(kube: Kube) -> None:
    assert kube.path("v1", "Pod") == "/api/v1/pods"
    assert kube.path("v1", "Pod", "ns", "p", "status") == "/api/v1/namespaces/ns/pods/p/status"
    assert kube.path("v1", "Pod", name="p") == "/api/v1/namespaces/default/pods/p"
    assert kube.path("v1", "Node", "ns", "n") == "/api/v1/nodes/n"
    assert kube.path("apps/v1", "Deployment", "ns") == "/apis/apps/v1/namespaces/ns/deployments"


def test_watch_gives_events_in_order_and_ends(kube: Kube, namespace: str) -> None:
    _, version = kube.list_at("v1", "ConfigMap", namespace)
    made = kube.create(config_map(namespace))
    kube.patch("v1", "ConfigMap", "settings", namespace, {"data": {"a": "2"}})
    kube.delete(made)
    started = time.monotonic()
    events = list(kube.watch("v1", "ConfigMap", namespace, version, timeout_seconds=2))
    own = [kind for kind, obj in events if kind != "BOOKMARK" and obj["metadata"]["name"] == "settings"]
    assert own == ["ADDED", "MODIFIED", "DELETED"]
    assert time.monotonic() - started < 10


def test_watch_that_is_refused_raises(kube: Kube) -> None:
    with pytest.raises(ApiError, match='Invalid value: "no-version"'):
        list(kube.watch("v1", "Pod", resource_version="no-version", timeout_seconds=2))


def script(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def executable(control_plane: ControlPlane, command: str, **more: object) -> Kube:
    entry = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": command, **more}
    return Kube.from_kubeconfig(control_plane.kubeconfig(exec=entry))


def test_credential_command_gets_its_environment_and_is_asked_once(control_plane: ControlPlane, tmp_path: Path) -> None:
    command = script(
        tmp_path / "credentials",
        f"""echo run >> {tmp_path}/runs
echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info
expires='"expirationTimestamp":"2999-01-01T00:00:00Z"'
echo '{{"kind":"ExecCredential","status":{{"token":"'$TOKEN'",'$expires'}}}}'
""",
    )
    client = executable(control_plane, command, env=[{"name": "TOKEN", "value": control_plane.token("admin")}])
    threads = [threading.Thread(target=client.list, args=("v1", "Namespace")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "runs").read_text() == "run\n"
    assert '"interactive": false' in (tmp_path / "info").read_text()
    client.close()


def test_credential_command_runs_again_when_the_token_expired_or_was_refused(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    command = script(
        tmp_path / "credentials",
        f"""if [ -e {tmp_path}/again ]; then token={control_plane.token("admin")}; else token=stale; fi
touch {tmp_path}/again
echo '{{"status":{{"token":"'$token'","expirationTimestamp":"2001-01-01T00:00:00Z"}}}}'
""",
    )
    client = executable(control_plane, command)
    assert client.list("v1", "Namespace")
    client.close()


@pytest.mark.parametrize(
    ("body", "said"),
    [("echo broken >&2; exit 3", "failed with code 3: broken"), ("echo hello", "is not an ExecCredential")],
)
def test_credential_command_that_fails_is_quoted(
    control_plane: ControlPlane, tmp_path: Path, body: str, said: str
) -> None:
    with pytest.raises(ApiError, match=said):
        executable(control_plane, script(tmp_path / "credentials", body)).list("v1", "Namespace")


def test_absent_credential_command_says_what_to_install(control_plane: ControlPlane) -> None:
    with pytest.raises(ApiError, match="does not exist: pip install it"):
        executable(control_plane, "no-such-command", installHint="pip install it").list("v1", "Namespace")


def test_refused_token_names_whose_it_was(control_plane: ControlPlane, tmp_path: Path) -> None:
    command = script(tmp_path / "credentials", """echo '{"status":{"token":"wrong"}}'""")
    with pytest.raises(ApiError, match="asked for the client to provide credentials") as refused:
        executable(control_plane, command, args=["get-token"]).list("v1", "Namespace")
    assert refused.value.code == 401
    assert f"{command} get-token" in refused.value.message
    assert "wrong" not in refused.value.message


def test_forbidden_names_the_user(control_plane: ControlPlane) -> None:
    client = Kube.from_kubeconfig(control_plane.kubeconfig(token=control_plane.token("nobody")))
    with pytest.raises(ApiError, match='User "system:serviceaccount:default:nobody" cannot list'):
        client.patient(5).list("v1", "Secret")
    client.close()


def test_patient_client_rides_over_a_restart_of_the_api_server(
    control_plane: ControlPlane, kube: Kube, namespace: str
) -> None:
    kube.create(config_map(namespace))
    control_plane.stop_api_server()
    with pytest.raises(Unreachable, match="refused"):
        kube.get("v1", "ConfigMap", "settings", namespace)
    restart = threading.Timer(2, control_plane.start_api_server)
    restart.start()
    try:
        patient = kube.patient(60)
        assert patient.get("v1", "ConfigMap", "settings", namespace) is not None
        patient.create(config_map(namespace, "after"))
    finally:
        restart.join()


def test_patience_ends(control_plane: ControlPlane) -> None:
    dead = control_plane.kubeconfig().replace(str(control_plane.port), "1")
    started = time.monotonic()
    with pytest.raises(Unreachable):
        Kube.from_kubeconfig(dead).patient(1).call("GET", "/version")
    assert 0.5 < time.monotonic() - started < 5
