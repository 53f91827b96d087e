"""What a server of Lustre tells of its targets: lctl's words, rates between two looks, what is silent (X05)."""

from __future__ import annotations

import subprocess

import pytest
import targets
from targets import ASKED, Watch, counts

from .test_file_system import shown

OST = """obdfilter.shared-OST0000.stats=
snapshot_time             {now}.590578 secs.usecs
read_bytes                {reads} samples [bytes] 4096 1048576 {read}
write_bytes               {writes} samples [bytes] 4096 1048576 {written} 1043677421345
getattr                   4 samples [reqs]
obdfilter.shared-OST0001.stats=
snapshot_time             {now}.590578 secs.usecs
read_bytes                0 samples [bytes] 0 0 0
obdfilter.shared-OST0000.kbytestotal=1000
obdfilter.shared-OST0001.kbytestotal=1000
obdfilter.shared-OST0000.kbytesavail=100
obdfilter.shared-OST0001.kbytesavail=900
"""
"""As the Lustre operations manual shows them; sums of squares end a line from 2.13 on."""
MDT = """mdt.shared-MDT0000.md_stats=
snapshot_time             {now}.567695 secs.nsecs
open                      {opens} samples [usecs] 12 480 5000 600000
getattr                   {looks} samples [usecs] 3 40 900 20000
"""
FS = 'file_system="shared"'


def watch(*said: str | Exception) -> Watch:
    """A watch of a file system that carries 2 GB/s, which hears this from lctl, ten seconds apart."""
    answers, times = iter(said), iter(range(0, 100, 10))

    def ask() -> str:
        each = next(answers)
        if isinstance(each, Exception):
            raise each
        return each

    return Watch("shared", 2e9, ask, lambda: float(next(times)))


def test_an_object_server_tells_rates_between_two_looks_and_its_fullest_target() -> None:
    first = OST.format(now=1, reads=100, read=5_000_000, writes=7, written=900)
    one = watch(first, OST.format(now=11, reads=140, read=6_000_000, writes=7, written=900))
    one.look()
    assert shown(one.text) == {
        f"shared_files_up{{{FS}}}": 1,
        f"shared_files_rate_bytes_per_second{{{FS}}}": 2e9,
        f"shared_files_fullest_target_ratio{{{FS}}}": 0.9,
    }
    one.look()
    found = shown(one.text)
    assert found[f'shared_files_bytes_per_second{{{FS},operation="read"}}'] == 100_000
    assert found[f'shared_files_bytes_per_second{{{FS},operation="write"}}'] == 0
    assert found[f'shared_files_operations_per_second{{{FS},operation="read"}}'] == 4
    assert not [name for name in found if "metadata" in name]


def test_a_metadata_server_tells_operations_of_all_kinds_and_no_bytes() -> None:
    one = watch(MDT.format(now=1, opens=10, looks=100), MDT.format(now=11, opens=30, looks=200))
    one.look()
    one.look()
    found = shown(one.text)
    assert found[f'shared_files_operations_per_second{{{FS},operation="metadata"}}'] == 12
    assert not [name for name in found if "bytes_per_second{" in name and "rate" not in name]
    assert not [name for name in found if "fullest" in name]


def test_a_target_that_came_back_or_from_the_partner_brings_no_past() -> None:
    """Its counters are lower than before, or were not there before: a jump would be an alert."""
    many = OST.format(now=1, reads=100, read=5_000_000, writes=7, written=900)
    few = OST.format(now=11, reads=2, read=4_096, writes=7, written=900)
    one = watch(many, few, few + MDT.format(now=11, opens=10, looks=100))
    for _ in range(3):
        one.look()
        found = shown(one.text)
        assert not [name for name, value in found.items() if "operation=" in name and value]
    assert f'shared_files_operations_per_second{{{FS},operation="metadata"}}' in found


@pytest.mark.parametrize(
    "said",
    [
        "",
        FileNotFoundError(2, "No such file or directory: 'lctl'"),
        subprocess.TimeoutExpired("lctl", 10),
        "obdfilter.shared-OST0000.kbytestotal=1000\n",
        "obdfilter.shared-OST0000.kbytestotal=many\n",
    ],
)
def test_a_server_without_targets_or_words_is_told_as_silent(said: str | Exception) -> None:
    whole = OST.format(now=1, reads=1, read=1, writes=1, written=1)
    one = watch(whole, said, whole)
    one.look()
    one.look()
    assert shown(one.text) == {f"shared_files_up{{{FS}}}": 0}
    one.look()
    assert not [name for name in shown(one.text) if "operation=" in name], "rates begin anew"


def test_lctl_is_asked_once_for_all_and_its_status_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is 2 on a metadata server, which has no OSTs."""
    asked = []

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(words)
        return subprocess.CompletedProcess(words, 2, MDT.format(now=1, opens=1, looks=1), "error: get_param: ...")

    monkeypatch.setattr(subprocess, "run", run)
    assert counts(targets._lctl())["md_stats", "shared-MDT0000", "open"] == 1
    assert asked == [["lctl", "get_param", *ASKED]]
