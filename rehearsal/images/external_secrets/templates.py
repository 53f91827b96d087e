"""Templates of an ExternalSecret, filled by the Go library that the controller has them filled by, inside Helm.

Both give a template what sprig has (external-secrets v2.9.0, runtime/template/v2/sprig, but for env, expandenv and
getHostByName; helm, pkg/engine/funcs.go, which leaves out the first two as well). The controller hands the values over
as the dot, Helm below `.Values`.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from rehearsal import places

SECONDS = 60
_SAID = re.compile(r"Error: (?:execution error at \([^)]*\): |template: .*?>: |parse error at \([^)]*\): )?(.*)", re.S)
_ACTION = re.compile(r"\{\{.*?\}\}", re.S)
_OWN = re.compile(r"\.(Values|Release|Chart|Capabilities|Files|Template)\b|\b(include|tpl|lookup|getHostByName)\b")


class TemplateError(Exception):
    """A template that cannot be read or filled; the text is what the library says."""


def filled(helm: Path, templates: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """The texts by their names. Raises TemplateError."""
    actions = (action for text in templates.values() for action in _ACTION.findall(text))
    if own := next((found[0] for action in actions if (found := _OWN.search(action))), None):
        raise TemplateError(f'function "{own}" not defined')
    names = sorted(templates)
    parts = [f'{{{{ define "part{index}" }}}}{templates[name]}{{{{ end }}}}' for index, name in enumerate(names)]
    lines = [f'{json.dumps(name)}: {{{{ include "part{at}" .Values | toJson }}}}' for at, name in enumerate(names)]
    with tempfile.TemporaryDirectory(dir=places.private_directory(places.cache() / "charts")) as scratch:
        chart = Path(scratch) / "filled"
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: filled\nversion: 1.0.0\n")
        (chart / "templates" / "_parts.tpl").write_text("\n".join(parts))
        (chart / "templates" / "texts.yaml").write_text("\n".join(lines))
        words = [str(helm), "template", "filled", str(chart), "--values", "-"]
        done = subprocess.run(words, input=json.dumps(dict(values)), capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        found = _SAID.search(done.stderr.strip())
        raise TemplateError(found[1] if found else done.stderr.strip())
    texts = yaml.safe_load(done.stdout) or {}
    return {str(name): str(text) for name, text in texts.items()}
