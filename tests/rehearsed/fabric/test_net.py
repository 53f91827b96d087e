"""A fabric as ibsim reads it."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.rehearsed.fabric.net import Device, Net, Plug, of
from tests.rehearsed.fabric.running import NEEDED, UnsweptError, missing, swept

DEVICES = (Device("leaf", "MF0;leaf:MQM8700/U1", ports=40, switch=True), Device("a", "node-a mlx5_0"))
NET = of([Plug("a", 1, "leaf", 7)], DEVICES)


def test_every_cable_is_named_from_both_ends() -> None:
    assert NET.text() == (
        'Hca\t1 "a"\t\t# "node-a mlx5_0"\n[1]\t"leaf"[7] w=2 s=7 e=7\n\n'
        'Switch\t40 "leaf"\t\t# "MF0;leaf:MQM8700/U1"\n[7]\t"a"[1] w=2 s=7 e=7\n'
    )
    told = replace(NET, down=(("leaf", 7),), downed={("a", 1): 3})
    assert told.text() == NET.text()
    assert told.commands() == 'Unlink "leaf"[7]\nPerformanceSet "a"[1] PortCounters.LinkDownedCounter=3\n'


def test_a_port_has_one_cable_and_a_rate_that_ibsim_knows() -> None:
    with pytest.raises(ValueError, match="port 7 of leaf has two cables"):
        replace(NET, plugs=(*NET.plugs, Plug("b", 1, "leaf", 7))).text()
    for rate in ({"speed": "NDR"}, {"lanes": 3}):
        with pytest.raises(ValueError, match="ibsim knows no link of"):
            replace(NET, plugs=(NET.plugs[0]._replace(**rate),)).text()


def test_what_is_missing_is_named_with_its_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.rehearsed.fabric.running._path", lambda: str(tmp_path))
    said = missing()
    assert said == (
        "rehearsed fabrics need ibsim-utils, infiniband-diags, opensm: "
        "apt-get install ibsim-utils infiniband-diags opensm (rehearsal/apt.txt)"
    )
    listed = (Path(__file__).parents[3] / "rehearsal" / "apt.txt").read_text().split()
    assert set(NEEDED.values()) <= set(listed)


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_net_that_ibsim_cannot_read_is_told_with_its_words(tmp_path: Path) -> None:
    """Widths that have nothing in common, which each end's line alone is free to have."""
    broken = Net(NET.devices, NET.plugs)
    text = broken.text().replace("[7]\t", "[7] ", 1).replace('"a"[1] w=2', '"a"[1] w=1')
    object.__setattr__(broken, "text", lambda: text)
    with pytest.raises(UnsweptError, match="mismatched enabled width"), swept(broken, tmp_path, seconds=20):
        pass


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_command_that_the_console_does_not_take_is_told(tmp_path: Path) -> None:
    wrong = replace(NET, down=(("leaf", 8),))
    with pytest.raises(UnsweptError, match=r"console: # .*not linked"), swept(wrong, tmp_path, seconds=20):
        pass
