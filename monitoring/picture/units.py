"""Values in words, as Grafana writes them."""

from monitoring.dashboards.model import Unit

_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = ((86_400, "d"), (3600, "h"), (60, "min"))
_SCALED = {
    Unit.BYTES: "B",
    Unit.BYTES_PER_SECOND: "B/s",
    Unit.WATT: "W",
    Unit.HERTZ: "Hz",
    Unit.JOULE: "J",
    Unit.PER_SECOND: "/s",
    Unit.REQUESTS_PER_SECOND: "req/s",
}
_PLAIN = {Unit.CELSIUS: "°C", Unit.KWH: "kWh", Unit.GB_PER_SECOND: "GB/s"}


def written(value: float, unit: Unit, decimals: int | None = None) -> str:
    """A value with its unit."""
    if unit is Unit.PART:
        return f"{_number(100 * value, decimals)}%"
    if unit in (Unit.SECONDS, Unit.MILLISECONDS):
        return _time(value if unit is Unit.SECONDS else value / 1000)
    if unit is Unit.USD:
        return f"${_scaled(value, decimals)}"
    if unit in _SCALED:
        return f"{_scaled(value, decimals, ' ')}{_SCALED[unit]}"
    if unit is Unit.COUNT:
        return _scaled(value, decimals)
    suffix = unit.removeprefix("suffix: ") if unit.startswith("suffix:") else _PLAIN[unit]
    return f"{_scaled(value, decimals)} {suffix}"


def _scaled(value: float, decimals: int | None, gap: str = "") -> str:
    for size, letter in _SI:
        if abs(value) >= size:
            return f"{_number(value / size, decimals if size == 1 else None)}{gap}{letter}"
    return f"{_number(value, decimals)}{gap}"


def _time(seconds: float) -> str:
    for size, name in _TIMES:
        if abs(seconds) >= size:
            return f"{_number(seconds / size, None)} {name}"
    if 0 < abs(seconds) < 1:
        return f"{_number(1000 * seconds, None)} ms"
    return f"{_number(seconds, None)} s"


def _number(value: float, decimals: int | None) -> str:
    """Three digits, or so many behind the point."""
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"
