"""pytest for tests of real processes: the files of a few failures run again, alone, and both outcomes are printed.

    python -m tests.again -n 3 -m engine

Three sites share a machine, and a test whose neighbours took its processor fails now and then. What fails alone too is
wrong, and so are failures of more files than `MOST`: then nothing runs again. A test that passed only alone is named at
the end; it has a race, or waits too briefly, and should be mended.
"""

import subprocess
import sys
from collections.abc import Sequence

import pytest

MOST = 3
"""Files whose tests run again."""
LINES = 40
"""Of a failure, told when it happens: a run that is ended by a time limit prints no summary."""


class Failures:
    """A plugin of pytest's: addresses of the tests that failed, in their order."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.found.append(report.nodeid)
            words = report.longreprtext.splitlines()[-LINES:]
            print(
                f"\n{report.nodeid}: {report.when} failed after {report.duration:.0f} s", *words, sep="\n", flush=True
            )


def main(arguments: Sequence[str]) -> int:
    """pytest's status: of the first run, or of the second one where there was a second."""
    failures = Failures()
    status = int(pytest.main(list(arguments), plugins=[failures]))
    files = list(dict.fromkeys(each.partition("::")[0] for each in failures.found))
    if status != pytest.ExitCode.TESTS_FAILED or not 0 < len(files) <= MOST:
        return status
    print(f"\nagain, alone: {' '.join(files)}", flush=True)
    # The last -n of a command counts.
    again = subprocess.run([sys.executable, "-m", "pytest", *arguments, "-n", "0", *files], check=False).returncode
    if again == 0:
        print("passed alone, and failed beside others:", *dict.fromkeys(failures.found), sep="\n  ", flush=True)
    return again


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
