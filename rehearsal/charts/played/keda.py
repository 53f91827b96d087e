"""Switches of KEDA: whose ScaledObjects it looks after, what it may read for that, and who makes its certificates.

Source: kedacore/charts, chart keda 2.20.2, templates/{manager,metrics-server,webhooks,cert-manager}.
"""

from collections.abc import Iterator
from typing import Any

from rehearsal.charts.chart import ChartError, Object, Order
from rehearsal.charts.played.switches import On, Rules, Switch, flag, image, only_if, put

OPERATOR, SERVER, HOOKS = "keda-operator", "keda-operator-metrics-apiserver", "keda-admission-webhooks"
_OPERATOR, _SERVER, _HOOKS = (On("Deployment", each) for each in (OPERATOR, SERVER, HOOKS))
_RIGHTS = On("ClusterRole", OPERATOR)
_CERTIFICATES = "certificates"


_TOLD = {
    "OPERATOR_NAME": OPERATOR,
    "KEDA_HTTP_DEFAULT_TIMEOUT": 3000,
    "KEDA_HTTP_MIN_TLS_VERSION": "TLS12",
    "KEDA_SERVICE_MIN_TLS_VERSION": "TLS13",
}
"""Of values.yaml; an inventory has names of variables alone."""


def _always(objects: list[Object], _: Order) -> None:
    for on in (_OPERATOR, _SERVER, _HOOKS):
        for container in on.container.places(objects):
            for name, value in _TOLD.items():
                if name in [each["name"] for each in container.get("env") or []]:
                    _tell(container, name, value)
        for pod in on.pod.places(objects):
            for volume in pod["volumes"]:
                if volume["name"] == _CERTIFICATES:
                    volume["secret"] = {"secretName": "kedaorg-certs", "optional": on is not _SERVER}


def _watches(objects: list[Object], value: Any, order: Order) -> list[Object]:
    """Its rights lie in the namespaces that it watches and its own, and no longer in all."""
    for each in (_OPERATOR, _SERVER):
        for container in each.container.places(objects):
            _tell(container, "WATCH_NAMESPACE", value)
    if not value:
        return objects
    everywhere = On("ClusterRoleBinding", OPERATOR)
    (bound,) = everywhere.places(objects)
    spaces = dict.fromkeys([*str(value).split(","), order.namespace])
    made = [
        {**bound, "kind": "RoleBinding", "metadata": {**bound["metadata"], "namespace": space.strip()}}
        for space in spaces
    ]
    return [*(each for each in objects if not everywhere.takes(each)), *made]


def _tell(container: Object, name: str, value: Any) -> None:
    """In the place of what it is told already, or after all else."""
    told = {"name": name, "value": str(value)}
    env = container.setdefault("env", [])
    at = next((at for at, each in enumerate(env) if each["name"] == name), len(env))
    env[at : at + 1] = [told]


def _own_secrets(objects: list[Object], value: Any, _: Order) -> list[Object]:
    if value is not True:
        return objects
    for role in _RIGHTS.places(objects):
        role["rules"] = [each for each in role["rules"] if each["resources"] != ["secrets"]]
    for role in On("Role", f"{OPERATOR}-certs").places(objects):
        role["rules"].append({"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]})
    for container in _OPERATOR.container.places(objects):
        _tell(container, "KEDA_RESTRICT_SECRET_ACCESS", "true")
    return objects


def _of_any_kind(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for role in _RIGHTS.places(objects if not value else []):
        role["rules"] = [each for each in role["rules"] if each["apiGroups"] != ["*"]]
    return objects


def _counted(objects: list[Object], value: Any, order: Order) -> list[Object]:
    if not value:
        return objects
    for service in On("Service", OPERATOR).places(objects):
        service["spec"]["ports"].append({"name": "metrics", "port": 8080, "targetPort": 8080})
    for container in _OPERATOR.container.places(objects):
        container["ports"].append({"containerPort": 8080, "name": "metrics", "protocol": "TCP"})
    objects = flag(_OPERATOR.container, "--enable-prometheus-metrics")(objects, True, order)
    return flag(_OPERATOR.container, "--metrics-bind-address")(objects, ":8080", order)


def _monitored(objects: list[Object], value: Any, order: Order) -> list[Object]:
    if not value:
        return objects
    labels = {"app.kubernetes.io/name": OPERATOR}
    for service in On("Service", OPERATOR).places(objects):
        service["metadata"].setdefault("labels", {}).update(labels)
    spec = {
        "endpoints": [{"port": "metrics", "path": "/metrics", "scheme": "http"}],
        "namespaceSelector": {"matchNames": [order.namespace]},
        "selector": {"matchLabels": labels},
    }
    metadata = {"name": OPERATOR, "namespace": order.namespace, "labels": labels}
    kind = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor"}
    return [*objects, {**kind, "metadata": metadata, "spec": spec}]


def _signed(objects: list[Object], value: Any, order: Order) -> list[Object]:
    """By cert-manager, which injects the authority as well: the operator writes neither Secrets nor APIServices."""
    if not value:
        return objects
    for role in On("Role", f"{OPERATOR}-certs").places(objects):
        role["rules"] = [each for each in role["rules"] if "create" not in each["verbs"] or "leases" in str(each)]
    for role in On("ClusterRole", f"{OPERATOR}-minimal-cluster-role").places(objects):
        written = ("admissionregistration.k8s.io", "apiregistration.k8s.io")
        role["rules"] = [each for each in role["rules"] if each["apiGroups"][0] not in written]
    for service in On("APIService").places(objects):
        injected = f"{order.namespace}/{OPERATOR}-tls-certificates"
        service["metadata"].setdefault("annotations", {})["cert-manager.io/inject-ca-from"] = injected
    for pod in _OPERATOR.pod.places(objects):
        for volume in pod["volumes"]:
            if volume["name"] == _CERTIFICATES:
                volume["secret"]["optional"] = False
    objects = flag(_OPERATOR.container, "--enable-cert-rotation")(objects, False, order)
    return [*objects, *_authority(order.namespace)]


def _authority(namespace: str) -> Iterator[Object]:
    def made(kind: str, name: str, spec: Object) -> Object:
        metadata = {"name": f"{OPERATOR}-{name}", "namespace": namespace}
        return {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": metadata, "spec": spec}

    def issuer(name: str) -> Object:
        return {"name": f"{OPERATOR}-{name}", "kind": "Issuer", "group": "cert-manager.io"}

    key = {"algorithm": "RSA", "size": 2048}
    yield made("Issuer", "selfsigned-issuer", {"selfSigned": {}})
    yield made("Issuer", "issuer", {"ca": {"secretName": "kedaorg-ca"}})
    yield made(
        "Certificate",
        "ca",
        {
            "isCA": True,
            "commonName": OPERATOR,
            "secretName": "kedaorg-ca",
            "privateKey": key,
            "duration": "43800h0m0s",
            "renewBefore": "14600h0m0s",
            "issuerRef": issuer("selfsigned-issuer"),
        },
    )
    yield made(
        "Certificate",
        "tls-certificates",
        {
            "commonName": OPERATOR,
            "dnsNames": [
                f"{name}.{namespace}{end}"
                for name in (OPERATOR, SERVER, HOOKS)
                for end in ("", ".svc", ".svc.cluster.local")
            ],
            "secretName": "kedaorg-certs",
            "usages": ["server auth", "client auth"],
            "privateKey": key,
            "duration": "8760h0m0s",
            "renewBefore": "5840h0m0s",
            "issuerRef": issuer("issuer"),
        },
    )


def _self_made(objects: list[Object], value: Any, order: Order) -> list[Object]:
    if not value and not ((order.values.get(_CERTIFICATES) or {}).get("certManager") or {}).get("enabled"):
        raise ChartError("values", "keda: without autoGenerated and certManager its Secret of certificates is yours")
    return objects


def _without_hooks(objects: list[Object], value: Any, order: Order) -> list[Object]:
    objects = only_if(On("Service Deployment", HOOKS), On("ValidatingWebhookConfiguration"))(objects, value, order)
    return flag(_OPERATOR.container, "--enable-webhook-patching")(objects, bool(value), order)


def _switches() -> Iterator[Switch]:
    yield Switch("watchNamespace", _watches)
    yield Switch("webhooks.enabled", _without_hooks)
    yield Switch(f"{_CERTIFICATES}.certManager.enabled", _signed)
    yield Switch(f"{_CERTIFICATES}.autoGenerated", _self_made)
    yield Switch("permissions.operator.restrict.secret", _own_secrets)
    yield Switch("rbac.enabledCustomScaledRefKinds", _of_any_kind)
    yield Switch("prometheus.operator.enabled", _counted)
    yield Switch("prometheus.operator.serviceMonitor.enabled", _monitored)
    for value, on, resources in (
        ("keda", _OPERATOR, "operator"),
        ("metricsApiServer", _SERVER, "metricServer"),
        ("webhooks", _HOOKS, "webhooks"),
    ):
        yield Switch(f"image.{value}.registry", image(on.container, "registry"))
        yield Switch(f"image.{value}.repository", image(on.container, "path"))
        yield Switch(f"resources.{resources}", put(on.container, "resources"))
    for on in (_OPERATOR, _SERVER, _HOOKS):
        yield Switch("image.pullPolicy", put(on.container, "imagePullPolicy"))


RULES = Rules(tuple(_switches()), _always)
