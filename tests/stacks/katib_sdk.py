"""Builds an Experiment through the models of kubeflow-katib, from the one on standard input, and writes it as they do.

Run by an interpreter that has the SDK. A field that a model does not have ends it. A trial's own object is no model's.
"""

import json
import re
import sys
from typing import Any

from kubeflow.katib import ApiClient, models  # type: ignore[import-not-found]

FREE = ("trial_spec",)
FOREIGN = {"V1ObjectMeta", "V1HTTPGetAction"}


def built(kind: str, value: Any) -> Any:
    """A value as the SDK's type of that name."""
    if listed := re.fullmatch(r"list\[(.+)\]", kind):
        return [built(listed[1], each) for each in value]
    model = getattr(models, kind, None)
    if model is None or kind in FOREIGN:
        return value
    names = {alias: name for name, alias in model.attribute_map.items()}
    unknown = set(value) - set(names)
    if unknown:
        raise SystemExit(f"{kind} has no {sorted(unknown)}")
    known = {names[alias]: each for alias, each in value.items()}
    return model(
        **{name: each if name in FREE else built(model.openapi_types[name], each) for name, each in known.items()}
    )


experiment = built("V1beta1Experiment", json.load(sys.stdin))
json.dump(ApiClient().sanitize_for_serialization(experiment), sys.stdout)
