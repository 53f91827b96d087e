"""What an ImageValidatingPolicy asks of an object, and about what the API server asks Kyverno for it.

Source: kyverno v1.19.1, pkg/cel/autogen (config.go, data.go, extraction.go: which controllers of pods are asked about,
and where their pods stand), pkg/image/verification/evaluator/policy.go (digests first, then the validations in their
order), pkg/controllers/webhook/validating.go (buildWebhookRules, webhooks of policies with a timeout of their own).
Played are policies about all images whose validations are verifyImageSignatures of a key for one list of images each.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rehearsal.images.kyverno.signed import RegistryError, has_digest

Object = dict[str, Any]
_BUILT_IN = {
    "daemonsets": ("apps", "v1"),
    "deployments": ("apps", "v1"),
    "replicasets": ("apps", "v1"),
    "statefulsets": ("apps", "v1"),
    "jobs": ("batch", "v1"),
    "cronjobs": ("batch", "v1"),
}
_LIST = re.compile(r"images\.(\w+)\.map\(image, verifyImageSignatures\(image, \[attestors\.(\w+)\]\)\)")

IsSigned = Callable[[str, Mapping[str, Any]], bool]
"""Whether an image has the signature that an attestor tells of. Raises RegistryError."""


def webhook(policy: Object, service: Mapping[str, Any], authority: str, of_all: Mapping[str, Any]) -> Object:
    """The webhook of a policy. `of_all` is the selector of namespaces that Kyverno's configuration has for all."""
    spec, name = policy["spec"], policy["metadata"]["name"]
    (rule,) = spec["matchConstraints"]["resourceRules"]
    own = spec["matchConstraints"].get("namespaceSelector") or {}
    both = [*own.get("matchExpressions", []), *of_all.get("matchExpressions", [])]
    failing = spec.get("failurePolicy") or "Fail"
    return {
        "name": f"ivpol.validate.kyverno.svc-{failing.lower()}-finegrained-{name}",
        "clientConfig": {"service": {**service, "path": f"/ivpol/validate/{name}"}, "caBundle": authority},
        "rules": [rule, *_about_controllers(spec, rule["operations"])],
        "failurePolicy": failing,
        "sideEffects": "NoneOnDryRun",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": (spec.get("webhookConfiguration") or {}).get("timeoutSeconds", 10),
        **({"namespaceSelector": {"matchExpressions": both}} if both else {}),
    }


def _about_controllers(spec: Object, operations: list[str]) -> Iterator[Object]:
    named = ((spec.get("autogen") or {}).get("podControllers") or {}).get("controllers")
    for each in _BUILT_IN if named is None else named:
        # RESOURCE.VERSION.GROUP, or one of the built-in; another name is let go (extraction.go, ResolveConfig).
        resource, _, rest = each.partition(".")
        version, _, group = rest.partition(".")
        group, version = _BUILT_IN.get(each, (group, version))
        if group and version:
            yield {
                "apiGroups": [group],
                "apiVersions": [version],
                "operations": operations,
                "resources": [resource],
            }


def refusal(policy: Object, obj: Object, is_signed: IsSigned) -> str | None:
    """Why an object is refused in Kyverno's words; None if it is not."""
    spec, name = policy["spec"], policy["metadata"]["name"]
    pods = list(_pods(obj, ""))
    if not pods:
        return f"Policy {name} error: extraction mode: no pod template found in {obj['apiVersion']}/{obj['kind']}"
    for path, pod in pods:
        said = _of_pod(spec, pod, is_signed)
        if said:
            where = f" (pod template at {path})" if path and _is_extracted(obj) else ""
            kind, message = said
            return f"Policy {name} {kind}: {message}{where}"
    return None


def _is_extracted(obj: Object) -> bool:
    return f"{obj['kind'].lower()}s" not in _BUILT_IN


def _pods(value: Any, path: str) -> Iterator[tuple[str, Object]]:
    """Specs of pods in an object of any kind, with their paths: what has containers below `spec`."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _pods(each, f"{path}[{index}]")
    elif isinstance(value, Mapping):
        spec = value.get("spec")
        if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
            yield path, dict(spec)
            return
        for key, each in value.items():
            yield from _pods(each, f"{path}.{key}".lstrip("."))


def _of_pod(spec: Object, pod: Object, is_signed: IsSigned) -> tuple[str, str] | None:
    lists = {
        key: [each["image"] for each in pod.get(key) or []]
        for key in ("containers", "initContainers", "ephemeralContainers")
    }
    verify = spec.get("validationConfigurations") or {}
    for image in (each for images in lists.values() for each in images):
        if verify.get("verifyDigest", True) and not has_digest(image):
            return "failed", f"image {image} does not have a digest"
    attestors = {each["name"]: each for each in spec["attestors"]}
    for validation in spec["validations"]:
        found = _LIST.match(validation["expression"])
        if found is None:
            return "error", f"rehearsal does not play {validation['expression']}"
        try:
            if not all(is_signed(image, attestors[found[2]]) for image in lists[found[1]]):
                return "failed", str(validation["message"])
        except (RegistryError, ValueError) as error:
            return "error", str(error)
    return None
