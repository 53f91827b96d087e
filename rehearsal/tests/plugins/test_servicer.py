"""What every plugin does alike."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2
from typing_extensions import override

from rehearsal.plugins.servicer import Context, InitFailed, Plugin, PluginError, rpc
from rehearsal.plugins.wire import UNKNOWN, decode, encode
from rehearsal.tests.plugins.driver import Driver, driven, partial


class Faulty(Plugin):
    """Fails in each way a provider can."""

    name = "faulty"
    version = "1.2.3"

    @override
    @rpc
    def Create(self, request: Any, context: Context) -> Any:
        inputs, _ = decode(request.properties)
        match inputs["how"]:
            case "error":
                raise PluginError("the quota of 5 is used up; ask for more")
            case "partial":
                raise InitFailed("x-1", encode({"a": 1}), request.properties, ["no capacity in zone a"])
        raise KeyError("how")


@pytest.fixture
def faulty() -> Iterator[Driver]:
    with driven(Faulty()) as driver:
        yield driver


def create(faulty: Driver, how: str) -> grpc.RpcError:
    request = provider_pb2.CreateRequest(type="x:y:Z", name="main", properties=encode({"how": how}))
    with pytest.raises(grpc.RpcError) as caught:
        faulty.stub.Create(request)
    return caught.value


def test_handshake_accepts_secrets_and_nothing_else(faulty: Driver) -> None:
    answer = faulty.stub.Handshake(provider_pb2.ProviderHandshakeRequest(engine_address="127.0.0.1:1"))
    assert answer.accept_secrets
    assert not answer.accept_resources
    assert not answer.accept_outputs
    assert faulty.stub.GetPluginInfo(Empty()).version == "1.2.3"


def test_an_error_names_operation_type_and_resource(faulty: Driver) -> None:
    error = create(faulty, "error")
    assert error.code() is grpc.StatusCode.UNKNOWN
    assert error.details() == "create x:y:Z main: the quota of 5 is used up; ask for more"


def test_a_half_made_object_is_kept(faulty: Driver) -> None:
    error = create(faulty, "partial")
    failed = partial(error)
    assert failed.id == "x-1"
    assert list(failed.reasons) == ["no capacity in zone a"]
    assert decode(failed.properties)[0] == {"a": 1}
    assert decode(failed.inputs)[0] == {"how": "partial"}
    assert error.details() == "create x:y:Z main: no capacity in zone a"


def test_a_bug_shows_its_traceback_in_the_log_only(faulty: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    error = create(faulty, "bug")
    assert error.details() == "create x:y:Z main: fault in the faulty plugin itself, KeyError: 'how'"
    assert "Traceback" in capfd.readouterr().err


def test_what_a_plugin_does_not_do_is_unimplemented(faulty: Driver) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        faulty.stub.GetMapping(provider_pb2.GetMappingRequest(key="terraform"))
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize(
    ("news", "expected"),
    [({"a": "1"}, "DIFF_NONE"), ({"a": "2"}, "DIFF_SOME"), ({"a": UNKNOWN}, "DIFF_UNKNOWN")],
)
def test_changed_arguments_update_the_provider(faulty: Driver, news: dict[str, Any], expected: str) -> None:
    answer = faulty.stub.DiffConfig(provider_pb2.DiffRequest(old_inputs=encode({"a": "1"}), news=encode(news)))
    assert provider_pb2.DiffResponse.DiffChanges.Name(answer.changes) == expected
    assert not answer.replaces


def test_cancel_is_seen_by_whoever_waits(faulty: Driver) -> None:
    faulty.stub.Cancel(Empty())
    assert faulty.plugin.cancelled.is_set()
