"""Fabric cards by what fi_info and the kernel say of them: whole, broken and cut."""

from pathlib import Path

import cards
import pytest
from results import UnreadableError

BLOCK = """\
provider: efa
    fabric: {fabric}
    domain: {domain}-rdm
    version: 203.0
    type: FI_EP_RDM
    protocol: FI_PROTO_EFA
"""
NAMES = ("rdmap79s0", "rdmap80s0", "rdmap81s0", "rdmap82s0")
WHOLE = "".join(BLOCK.format(fabric="efa", domain=each) for each in NAMES)


def test_a_device_counts_once_whatever_fabrics_it_has() -> None:
    """libfabric 2 lists each as efa-direct as well."""
    direct = "".join(BLOCK.format(fabric="efa-direct", domain=each) for each in NAMES)
    assert cards.domains(WHOLE) == set(NAMES)
    assert cards.domains(direct + WHOLE) == set(NAMES)


def test_another_provider_is_no_device_of_the_fabric() -> None:
    assert cards.domains(WHOLE + BLOCK.format(fabric="x", domain="eth0").replace(": efa", ": tcp")) == set(NAMES)


@pytest.mark.parametrize("left", range(1, len(BLOCK.splitlines())))
def test_output_that_was_cut_is_not_taken_for_fewer_devices(left: int) -> None:
    cut = WHOLE + "\n".join(BLOCK.format(fabric="efa", domain="rdmap83s0").splitlines()[:left])
    with pytest.raises(UnreadableError, match="its last block is incomplete"):
        cards.domains(cut)


@pytest.mark.parametrize("text", ["", "fi_getinfo: -61 (No data available)\n", "fi_info did not end within 600 s"])
def test_no_device_is_said_in_the_tools_words(text: str) -> None:
    with pytest.raises(UnreadableError, match="fi_info finds no device of provider efa"):
        cards.domains(text)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name if name == cards.FI_INFO[1] else None)


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    ("said", "devices", "state", "why"),
    [
        (WHOLE, 4, "pass", "fi_info finds 4 devices of provider efa"),
        (WHOLE, 32, "fail", "fi_info finds 4 devices of provider efa, not 32"),
        ("fi_getinfo: -61 (No data available)", 4, "fail", "its output: 'fi_getinfo: -61 (No data available)'"),
    ],
)
def test_libfabric_finds_all_devices_or_the_node_fails(said: str, devices: int, state: str, why: str) -> None:
    asked: list[tuple[str, ...]] = []

    def run(*words: str) -> str:
        asked.append(words)
        return said

    found = cards.libfabric(devices, run)
    assert found is not None
    assert (found.test, found.state) == ("libfabric", state)
    assert why in found.why
    assert asked == [("/opt/amazon/efa/bin/fi_info", "-p", "efa", "-t", "FI_EP_RDM")]


def test_an_image_without_the_tool_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert cards.libfabric(4, lambda *_: "") is None


def port(root: Path, card: str, layer: str = "InfiniBand", **values: str) -> None:
    place = root / card / "ports" / "1"
    (place / "counters").mkdir(parents=True, exist_ok=True)
    (place / "link_layer").write_text(f"{layer}\n")
    for name, value in {"symbol_error": "0", "link_downed": "3", "port_xmit_data": "9", **values}.items():
        (place / "counters" / name).write_text(f"{value}\n")


def test_counters_of_the_fabrics_ports_alone_are_read(tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0", symbol_error="7")
    port(tmp_path, "mlx5_8", layer="Ethernet")
    assert cards.counts(tmp_path) == {("mlx5_0 port 1", "symbol_error"): 7, ("mlx5_0 port 1", "link_downed"): 3}
    assert cards.counts(tmp_path / "nothing") == {}
    port(tmp_path, "mlx5_0", symbol_error="N/A")
    with pytest.raises(UnreadableError, match="symbol_error of mlx5_0 port 1 is not a number"):
        cards.counts(tmp_path)


@pytest.mark.parametrize(
    ("values", "state", "why"),
    [
        ({}, "pass", "no new faults at 2 ports"),
        ({"symbol_error": "5"}, "warn", "symbol_error of mlx5_1 port 1 grew by 5"),
        ({"link_downed": "4"}, "fail", "link_downed of mlx5_1 port 1 grew by 1"),
        ({"link_downed": "0"}, "warn", "counters of mlx5_1 port 1 were reset meanwhile"),
    ],
)
def test_faults_that_come_while_nodes_work_together(
    tmp_path: Path, values: dict[str, str], state: str, why: str
) -> None:
    """Three links went down before, as machines started: that says nothing of now."""
    port(tmp_path, "mlx5_0")
    port(tmp_path, "mlx5_1")
    before = cards.counts(tmp_path)
    port(tmp_path, "mlx5_1", **values)
    found = cards.grown(before, cards.counts(tmp_path))
    assert found is not None
    assert (found.state, found.why) == (state, why)


def test_a_port_that_is_gone_fails_and_no_counters_are_no_line() -> None:
    before = {("mlx5_0 port 1", "symbol_error"): 0, ("mlx5_1 port 1", "symbol_error"): 0}
    found = cards.grown(before, {("mlx5_0 port 1", "symbol_error"): 0})
    assert found is not None
    assert (found.state, found.why) == ("fail", "mlx5_1 port 1 is gone")
    assert cards.grown({}, {}) is None
