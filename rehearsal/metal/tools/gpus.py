"""nvidia-smi(1): the queries and settings that prepare a host, with the driver's words and statuses.

Without the driver: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", status 9; a value
outside of a limit: "Provided power limit … is not a valid power limit", status 3 or as the manual's RETURN VALUE says.
A GPU that nobody keeps initialized takes 1 to 3 seconds for each who asks (NVIDIA, Driver Persistence, "Overview").
"""

from __future__ import annotations

from rehearsal.metal.tools.machine import absent, called, complain, facts, takes, until_boot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INITIALIZING_SECONDS = 1.0


def main(name: str, words: list[str]) -> int:
    """One call."""
    called(name, words)
    gpu: dict[str, Any] | None = facts().get("gpu")
    if gpu is None or not gpu["driver"]:
        return absent(name)
    with until_boot() as state:
        initialized = bool(state.get("gpus", {}).get("persistence"))
    if not initialized:
        takes(INITIALIZING_SECONDS * gpu["count"])
    with until_boot() as state:
        settings = state.setdefault("gpus", {})
        if words[0].startswith("--query-gpu="):
            fields = words[0].partition("=")[2].split(",")
            line = ", ".join(_field(each, gpu, settings, bare="nounits" in words[-1]) for each in fields)
            print("\n".join([line] * gpu["count"]))
            return 0
        return _set(words, gpu, settings)


def _field(name: str, gpu: dict[str, Any], settings: dict[str, Any], *, bare: bool) -> str:
    watts = {
        "power.min_limit": gpu["least_watts"],
        "power.max_limit": gpu["most_watts"],
        "power.limit": settings.get("watts", gpu["most_watts"]),
    }
    if name in watts:
        return f"{watts[name]:.2f}" + ("" if bare else " W")
    if name == "clocks.max.sm":
        return str(gpu["most_mhz"]) + ("" if bare else " MHz")
    if name == "persistence_mode":
        return "Enabled" if settings.get("persistence") else "Disabled"
    return str({"driver_version": gpu["driver"], "name": gpu["product"]}[name])


def _set(words: list[str], gpu: dict[str, Any], settings: dict[str, Any]) -> int:
    if words[:2] == ["-pm", "1"]:
        settings["persistence"] = True
    elif words[0] == "-lgc":
        settings["clocks"] = words[1]
    elif words[0] == "-rgc":
        settings.pop("clocks", None)
    elif words[0] == "-pl":
        if not gpu["least_watts"] <= float(words[1]) <= gpu["most_watts"]:
            return complain(
                f"Provided power limit {words[1]} W is not a valid power limit which should be between "
                f"{gpu['least_watts']:.2f} W and {gpu['most_watts']:.2f} W.",
                3,
            )
        settings["watts"] = float(words[1])
    else:
        return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.", 2)
    return 0
