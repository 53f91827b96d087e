"""Switches of external-secrets: what it looks after, what it may do for that, and which of its parts are there.

Source: external-secrets v2.9.0, deploy/charts/external-secrets/templates (deployment.yaml, rbac.yaml,
serviceaccount.yaml, webhook-*.yaml, validatingwebhook.yaml, cert-controller-*.yaml).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import On, Rules, Switch, image, only_if, put, scheduling

FULL = "<<fullname external-secrets>>"
_CONTROLLER = On("Deployment", FULL)
_ROLES = On("ClusterRole", f"{FULL}-*")
_RIGHTS = On("ClusterRole", f"{FULL}-controller")
_PERSONS = {"View": ("view", ("view",)), "Edit": ("edit", ("view", "edit")), "Admin": ("admin", ("view", "edit"))}
_PROCESSES = {
    "ClusterStore": ("cluster-store", "clustersecretstores"),
    "ClusterExternalSecret": ("cluster-external-secret", "clusterexternalsecrets"),
    "ClusterPushSecret": ("cluster-push-secret", "clusterpushsecrets"),
    "PushSecret": ("push-secret", "pushsecrets"),
    "ClusterGenerator": (None, "clustergenerators"),
}
"""Values that begin with `process`: the reconciler that a flag of the controller ends, and what it looks after."""


def _always(objects: list[Object], _: Order) -> None:
    """Labels that add the rights to Kubernetes' own roles; inventories have none."""
    for word, roles in _PERSONS.values():
        for role in roles:
            for each in On("ClusterRole", f"{FULL}-{role}").places(objects):
                labels = each["metadata"].setdefault("labels", {})
                labels[f"rbac.authorization.k8s.io/aggregate-to-{word}"] = "true"


def _not_added(word: str, roles: Iterable[str]) -> Switch:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for role in roles if not value else ():
            for each in On("ClusterRole", f"{FULL}-{role}").places(objects):
                each["metadata"]["labels"].pop(f"rbac.authorization.k8s.io/aggregate-to-{word}")
        return objects

    return Switch(f"rbac.aggregateTo{word.capitalize()}", effect)


def _process(name: str, reconciler: str | None, plural: str) -> Switch:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        if value:
            return objects
        for container in _CONTROLLER.container.places(objects if reconciler else []):
            container["args"].insert(0, f"--enable-{reconciler}-reconciler=false")
        for role in _ROLES.places(objects):
            role["rules"] = [left for rule in role["rules"] if (left := _without(rule, plural))["resources"]]
        if plural == "clusterexternalsecrets":
            for role in _RIGHTS.places(objects):
                role["rules"] = [each for each in role["rules"] if not _of_all_namespaces(each)]
        return objects

    return Switch(f"process{name}", effect)


def _without(rule: Object, plural: str) -> Object:
    return {**rule, "resources": [each for each in rule["resources"] if each.partition("/")[0] != plural]}


def _of_all_namespaces(rule: Object) -> bool:
    """What the controller of secrets of the whole cluster may besides: label namespaces, make secrets in each."""
    makes = "create" in rule["verbs"] and rule["resources"] == ["externalsecrets"]
    return makes or (rule["resources"] == ["namespaces"] and "update" in rule["verbs"])


def _tokens(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for role in _RIGHTS.places(objects if not value else []):
        role["rules"] = [each for each in role["rules"] if each["resources"] != ["serviceaccounts/token"]]
    return objects


def _account(objects: list[Object], value: Any, order: Order) -> list[Object]:
    if not value:
        return objects
    for each in On("ServiceAccount", FULL).places(objects):
        each["metadata"]["name"] = value
    bound = (On("ClusterRoleBinding", f"{FULL}-controller"), On("RoleBinding", f"{FULL}-leaderelection"))
    for binding in (each for on in bound for each in on.places(objects)):
        binding["subjects"] = [{**each, "name": value} for each in binding["subjects"]]
    return put(_CONTROLLER.pod, "serviceAccountName")(objects, value, order)


def _switches() -> Iterator[Switch]:
    yield Switch("serviceAccount.name", _account)
    yield Switch(
        "webhook.create",
        only_if(
            On("ServiceAccount", "external-secrets-webhook"),
            On("Secret Service Deployment", f"{FULL}-webhook"),
            On("ValidatingWebhookConfiguration"),
        ),
    )
    yield Switch(
        "certController.create",
        only_if(
            On("ServiceAccount", "external-secrets-cert-controller"),
            On("ClusterRole ClusterRoleBinding Deployment", f"{FULL}-cert-controller"),
        ),
    )
    for name, (reconciler, plural) in _PROCESSES.items():
        yield _process(name, reconciler, plural)
    for word, roles in _PERSONS.values():
        yield _not_added(word, roles)
    yield Switch("rbac.serviceAccountTokenCreate", _tokens)
    yield Switch("rbac.servicebindings.create", only_if(On("ClusterRole", f"{FULL}-servicebindings")))
    yield Switch("image.repository", image(_CONTROLLER.container, "repository"))
    yield from scheduling("", _CONTROLLER)


RULES = Rules(tuple(_switches()), _always)
