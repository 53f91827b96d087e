"""What a signal does to a command, by handlers alone; what it does to whole runs is in test_faults."""

import signal

import pytest

from rehearsal.command import main


@pytest.mark.parametrize("last", [True, False])
def test_who_ignores_signals_on_the_way_out_goes_on_to_if_the_command_is_the_last_of_its_process(last: bool) -> None:
    """So that the status is the command's; a caller that goes on gets its handlers back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        with main._ended_by_signals(last=last):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is (signal.SIG_IGN if last else before)
    finally:
        signal.signal(signal.SIGINT, before)


def test_otherwise_the_callers_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="SIGINT"), main._ended_by_signals(last=False):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
