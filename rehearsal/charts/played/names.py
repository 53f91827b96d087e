"""Names in a played chart: inventories are rendered as release `x` in namespace `ns`, releases have their own.

What a chart names after its release becomes a mark in the data file, and the mark becomes the name when it is rendered:
`<<release>>`, `<<namespace>>`, and `<<fullname PART>>` for the full name of the chart or of a sub-chart.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_NAMESPACE = re.compile(r"(?<![A-Za-z0-9])ns(?![A-Za-z0-9])")
_MARK = re.compile(r"<<(?:(release|namespace)|fullname ([^>]+))>>")
_LONGEST = 63
# kube-prometheus-stack, templates/_helpers.tpl: Prometheus' StatefulSets add 37 characters to the name.
_SHORTER = {"kube-prometheus-stack": 26}


def marked(value: Any, parts: Iterable[str]) -> Any:
    """A copy in which release `x` and namespace `ns` are marks. `parts` are the names of the chart and sub-charts."""
    either = "|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True))
    # An `x` of the API group x-k8s.io, or after a dot (`dcgm-3.x`), is no release.
    release = re.compile(rf"(?<![A-Za-z0-9.])x(?:-({either})(?![a-z0-9])|(?=-(?!k8s)|$|[:/,]))")

    def mark(text: str) -> str:
        text = release.sub(lambda found: f"<<fullname {found[1]}>>" if found[1] else "<<release>>", text)
        return _NAMESPACE.sub("<<namespace>>", text)

    return _mapped(value, mark)


def filled(value: Any, release: str, namespace: str, values: Mapping[str, Any], chart: str) -> Any:
    """A copy with the names of a release in place of the marks. `values` may override the full names."""

    def fill(found: re.Match[str]) -> str:
        if part := found[2]:
            return fullname(part, release, values if part == chart else values.get(part) or {})
        return release if found[1] == "release" else namespace

    return _mapped(value, lambda text: _MARK.sub(fill, text))


def fullname(part: str, release: str, values: Mapping[str, Any]) -> str:
    """Helm's usual full name: an override, the release's name if it contains the chart's, else both.

    Source: helm create, templates/_helpers.tpl, which the charts here follow.
    """
    name = str(values.get("nameOverride") or part)
    whole = values.get("fullnameOverride") or (release if name in release else f"{release}-{name}")
    return str(whole)[: _SHORTER.get(part, _LONGEST)].rstrip("-")


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): _mapped(each, change) for key, each in value.items()}
    return [_mapped(each, change) for each in value] if isinstance(value, list) else value
