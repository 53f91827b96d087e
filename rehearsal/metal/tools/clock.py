"""chronyc(1): how far the machine's clock is off the time of its servers.

`waitsync TRIES CORRECTION SKEW INTERVAL` looks again after an interval, as often as it is told to.
"""

import pathlib

from rehearsal.metal.tools.machine import called, complain, facts, takes, until_boot


def main(name: str, words: list[str]) -> int:
    """`waitsync` and `-c tracking`. A machine whose clock is off is one whose servers do not answer."""
    called(name, words)
    with until_boot() as state:
        running = "chrony.service" in state.get("active", {})
    if not running:
        return complain("506 Cannot talk to daemon", 1)
    files = pathlib.Path("/etc/chrony/sources.d").glob("*.sources")
    servers = [line.split()[1] for file in files for line in file.read_text().splitlines()]
    reached = bool(servers) and not facts()["clock_off"]
    if "tracking" in words:
        known = f"0A140001,{servers[0]},3" if reached else "7F7F0101,,0"
        status = "Normal" if reached else "Not synchronised"
        print(f"{known},1795441234.5,0.000002100,0.000001,0.000002,-1.2,0.001,0.02,0.0003,0.0001,64.2,{status}")
        return 0
    if not reached:
        tries, _, _, interval = map(float, words[words.index("waitsync") + 1 :])
        takes(tries * interval)
    return 0 if reached else 1
