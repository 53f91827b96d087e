"""command:remote:Command against rehearsed hosts, driven as the engine drives it."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.lacking import missing
from rehearsal.metal.machine import Machine
from rehearsal.metal.record import HALL
from rehearsal.plugins.command.inputs import TOKEN
from rehearsal.plugins.command.plugin import CommandPlugin
from rehearsal.plugins.wire import UNKNOWN
from rehearsal.tests.plugins.driver import Driver, RefusalError, driven

pytestmark = pytest.mark.engine

LACKING = missing()
DECLARED = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIThePrivateHalfIsOnTheServer"


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    if LACKING:
        pytest.skip(LACKING)
    made = Hall(tmp_path_factory.mktemp("hall"))
    made.start()
    made.rack([Machine("one", "10.30.0.1", "S1", host_key=DECLARED)])
    yield made
    made.stop()


@pytest.fixture
def host(hall: Hall) -> Host:
    return hall.hosts["one"]


@pytest.fixture
def plugin(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setenv(HALL, str(hall.file))
    with driven(CommandPlugin()) as driver:
        yield driver


def inputs(hall: Hall, **more: Any) -> dict[str, Any]:
    connection = {
        "host": "10.30.0.1",
        "privateKey": hall.keys.private.read_text(),
        "hostKey": DECLARED,
        "dialErrorLimit": 0,
    }
    return {"connection": connection, **more}


def message(error: pytest.ExceptionInfo[grpc.RpcError]) -> str:
    return str(error.value.details())


def test_defaults_of_the_connection_are_filled_in_and_all_of_it_is_secret(hall: Hall, plugin: Driver) -> None:
    state = plugin.create(TOKEN, "x", inputs(hall, create="echo hi; echo oh >&2"))
    assert (state.outputs["stdout"], state.outputs["stderr"]) == ("hi", "oh")
    assert {key: state.outputs["connection"][key] for key in ("user", "port", "perDialTimeout")} == {
        "user": "root",
        "port": 22,
        "perDialTimeout": 15,
    }
    assert state.secrets == {("connection",)}
    assert state.id.startswith("x")
    assert len(state.id) == len("x") + 8


def test_the_command_reads_standard_input_and_loses_one_newline(hall: Hall, plugin: Driver) -> None:
    state = plugin.create(TOKEN, "x", inputs(hall, create="cat", stdin="a\n\n"), secrets={("stdin",)})
    assert state.outputs["stdout"] == "a\n"
    assert ("stdin",) in state.secrets
    # The official provider leaves what a secret input printed in clear, unless the program says otherwise.
    assert ("stdout",) not in state.secrets


def test_a_preview_dials_nobody(hall: Hall, plugin: Driver) -> None:
    away = inputs(hall, create="true")
    away["connection"]["host"] = "10.30.0.99"
    assert plugin.preview(TOKEN, "x", away)["stdout"] == UNKNOWN


def test_a_command_that_fails_is_not_made_and_says_what_it_printed(hall: Hall, plugin: Driver) -> None:
    with pytest.raises(grpc.RpcError) as error:
        plugin.create(TOKEN, "x", inputs(hall, create='echo "no room"; exit 3'))
    assert message(error) == 'Process exited with status 3: running "echo \\"no room\\"; exit 3":\nno room\n'


def test_a_changed_input_updates_by_the_update_command_else_by_create(hall: Hall, plugin: Driver) -> None:
    state = plugin.create(TOKEN, "x", inputs(hall, create="echo made", stdin="1"))
    changed = inputs(hall, create="echo made", stdin="2")
    answer = plugin.diff(state, changed)
    assert list(answer.diffs) == ["stdin"]
    assert not answer.replaces
    assert plugin.update(state, changed).outputs["stdout"] == "made"
    updated = inputs(hall, create="echo made", update="echo renewed", stdin="2")
    assert plugin.update(state, updated).outputs["stdout"] == "renewed"
    assert not plugin.diff(state, inputs(hall, create="echo made", stdin="1")).diffs


def test_a_changed_trigger_is_named_as_the_sdk_asks_for_it(hall: Hall, plugin: Driver) -> None:
    """The SDK says replace_on_changes=["triggers[*]"], which the engine compares with these paths."""
    state = plugin.create(TOKEN, "x", inputs(hall, create="true", triggers=["a", "b"]))
    answer = plugin.diff(state, inputs(hall, create="true", triggers=["a", "c"]))
    assert list(answer.detailedDiff) == ["triggers[1]"]


def test_delete_runs_its_command_with_the_same_standard_input(hall: Hall, host: Host, plugin: Driver) -> None:
    state = plugin.create(TOKEN, "x", inputs(hall, create="true", delete="cat >/root/gone", stdin="bye"))
    plugin.delete(state)
    assert (host.disk / "root/.ssh").exists()
    assert plugin.create(TOKEN, "y", inputs(hall, create="cat /root/gone")).outputs["stdout"] == "bye"


def test_reading_gives_back_what_the_state_has(hall: Hall, plugin: Driver) -> None:
    state = plugin.create(TOKEN, "x", inputs(hall, create="echo hi"))
    found = plugin.read(state)
    assert found is not None
    assert found.outputs == state.outputs


@pytest.mark.parametrize(
    ("changes", "where", "reason"),
    [
        ({"creat": "true"}, "creat", "Unrecognized field 'creat'"),
        ({"create": 3}, "create", "Field 'create' must be of type str"),
        ({"logging": "loud"}, "logging", "'loud' is none of"),
    ],
)
def test_inputs_that_the_schema_does_not_have(
    hall: Hall, plugin: Driver, changes: dict[str, Any], where: str, reason: str
) -> None:
    with pytest.raises(RefusalError) as error:
        plugin.create(TOKEN, "x", inputs(hall, **changes))
    assert reason in error.value.failures[where]


def test_a_way_in_that_is_not_played_is_refused_by_name(hall: Hall, plugin: Driver) -> None:
    given = inputs(hall, create="true")
    given["connection"]["password"] = "open"
    with pytest.raises(RefusalError, match="lets nobody in by 'password'"):
        plugin.create(TOKEN, "x", given)


def test_other_resources_of_the_provider_are_refused_by_name(hall: Hall, plugin: Driver) -> None:
    with pytest.raises(grpc.RpcError) as error:
        plugin.create("command:local:Command", "x", {"create": "true"})
    assert "command:local:Command is not played" in message(error)


def test_variables_are_not_taken_by_the_hosts(hall: Hall, plugin: Driver) -> None:
    with pytest.raises(grpc.RpcError) as error:
        plugin.create(TOKEN, "x", inputs(hall, create="true", environment={"A": "1"}))
    assert message(error) == 'could not set environment variable "A": ssh: setenv failed'


def test_a_host_key_that_nobody_has_is_a_mismatch(hall: Hall, plugin: Driver) -> None:
    given = inputs(hall, create="true")
    given["connection"]["hostKey"] = DECLARED.replace("Server", "Sxrver")
    with pytest.raises(grpc.RpcError) as error:
        plugin.create(TOKEN, "x", given)
    assert "after 0 failed attempts: ssh: handshake failed: ssh: host key mismatch" in message(error)


def test_without_a_hall_no_address_but_loopback_is_dialled(
    hall: Hall, plugin: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HALL)
    with pytest.raises(grpc.RpcError) as error:
        plugin.create(TOKEN, "x", inputs(hall, create="true"))
    assert "10.30.0.1:22 is not dialled" in message(error)
