"""What a signal does to a command, by handlers alone; what it does to whole runs is in test_faults."""

import signal

import pytest

from rehearsal.command import main


def test_who_ignores_signals_on_the_way_out_goes_on_to_so_that_the_status_is_the_commands() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with main._ended_by_signals(last=True):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_otherwise_the_callers_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="SIGINT"), main._ended_by_signals(last=False):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_who_asked_for_a_command_in_a_process_of_theirs_gets_the_handlers_back_anyhow() -> None:
    before = signal.getsignal(signal.SIGINT)
    with main._ended_by_signals(last=False):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is before
