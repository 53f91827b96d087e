"""Rules about the way in from outside: routes that their Gateway accepts, listeners that have their certificate."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from policy.gangs import metadata_of, namespace_of, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.pods import is_kubernetes
from policy.rule import Finding, rule
from policy.selectors import makes_unseen, object_named, selects
from policy.words import seconds

ROUTES = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute")
NAME = "kubernetes.io/metadata.name"


def _of_gateways(graph: Graph, *kinds: str) -> list[Resource]:
    """Objects of the Gateway API whose place is known."""
    found = [each for each in graph.of_type(*kinds) if "gateway.networking.k8s.io/" in each.token]
    return [each for each in found if namespace_of(each) != UNKNOWN]


def _meets(host: str, wanted: str) -> bool:
    """Whether a listener's hostname and a route's have a name in common; `*.` stands for one label or more."""
    if host.startswith("*.") and wanted.startswith("*."):
        return host.endswith(wanted[1:]) or wanted.endswith(host[1:])
    if host.startswith("*."):
        return wanted.endswith(host[1:])
    return host == wanted or (wanted.startswith("*.") and host.endswith(wanted[1:]))


def _lets(graph: Graph, gateway: Resource, listener: Mapping[str, Any], namespace: str) -> bool:
    allowed = ((listener.get("allowedRoutes") or {}).get("namespaces")) or {}
    match allowed.get("from", "Same"):
        case "All":
            return True
        case "Same":
            return namespace == namespace_of(gateway)
        case _:
            place = object_named(graph, "Namespace", "default", namespace)
            labels = {**((metadata_of(place).get("labels") or {}) if place else {}), NAME: namespace}
            return selects(allowed.get("selector") or {}, labels)


@rule(
    source="Gateway API v1: https://gateway-api.sigs.k8s.io/reference/spec/ (RouteReasonNoMatchingParent, "
    "NoMatchingListenerHostname, NotAllowedByListeners): such a route is in no condition that anybody waits for",
    remedy="let sectionName, hostnames and namespace be those that a listener of the Gateway takes",
)
def routes_are_accepted(graph: Graph) -> Iterator[Finding]:
    """A route names a Gateway and a listener of it that lets its namespace and one of its hostnames in (Y11)."""
    for each in _of_gateways(graph, *ROUTES):
        for parent in spec_of(each).get("parentRefs") or []:
            place = str(parent.get("namespace") or namespace_of(each))
            gateway = object_named(graph, "Gateway", place, str(parent.get("name")))
            others = [str(metadata_of(one).get("name")) for one in graph.of_type("Gateway")]
            if gateway is None and (near := get_close_matches(str(parent.get("name")), others, n=1)):
                yield (
                    each.name,
                    f"names the Gateway {parent.get('name')} in {place}, which nothing creates; {near[0]} is near",
                )
            if gateway is None or parent.get("kind", "Gateway") != "Gateway" or UNKNOWN in str(gateway.inputs):
                continue
            listeners = spec_of(gateway).get("listeners") or []
            named = [one for one in listeners if parent.get("sectionName") in (None, one.get("name"))]
            if not named:
                yield each.name, f"names the listener {parent.get('sectionName')}, which {gateway.name} has not"
                continue
            open_ = [one for one in named if _lets(graph, gateway, one, namespace_of(each))]
            if not open_:
                yield each.name, f"is in the namespace {namespace_of(each)}, from which {gateway.name} takes no routes"
                continue
            hosts = [str(one.get("hostname")) for one in open_ if one.get("hostname")]
            wanted = [str(one) for one in spec_of(each).get("hostnames") or []]
            if wanted and len(hosts) == len(open_) and not any(_meets(one, host) for one in hosts for host in wanted):
                yield each.name, f"is for {', '.join(wanted)}, and its listener for {', '.join(hosts)}"


@rule(
    source="Gateway API v1: https://gateway-api.sigs.k8s.io/reference/spec/ (RouteReasonBackendNotFound): requests are "
    "answered by 500",
    remedy="name a Service that is registered in the route's namespace, and one of its ports; for one elsewhere, a "
    "ReferenceGrant there, from the kind and namespace of the route to the Service",
)
def routes_lead_to_a_service(graph: Graph) -> Iterator[Finding]:
    """A route's backend is an existing Service, at one of its ports (Y11)."""
    for each in _of_gateways(graph, *ROUTES):
        for one in spec_of(each).get("rules") or []:
            for backend in one.get("backendRefs") or []:
                place = str(backend.get("namespace") or namespace_of(each))
                if backend.get("kind", "Service") != "Service" or UNKNOWN in str(backend):
                    continue
                if place != namespace_of(each) and not _granted(graph, each, place, str(backend.get("name"))):
                    yield each.name, f"leads into {place}, where no ReferenceGrant lets routes of {namespace_of(each)}"
                service = object_named(graph, "Service", place, str(backend.get("name")))
                if service is None:
                    own = object_named(graph, "Namespace", "default", place)
                    if own is not None and not makes_unseen(graph, place):
                        yield each.name, f"leads to the Service {backend.get('name')} in {place}, which nothing creates"
                    continue
                ports = [port.get("port") for port in spec_of(service).get("ports") or []]
                if backend.get("port") not in ports:
                    shown = ", ".join(str(port) for port in ports)
                    yield each.name, f"leads to port {backend.get('port')} of {service.name}, which has {shown}"
            for one_filter in one.get("filters") or []:
                reference = one_filter.get("extensionRef") or {}
                kind, name = str(reference.get("kind")), str(reference.get("name"))
                lost = object_named(graph, kind, namespace_of(each), name) is None
                if reference and lost and UNKNOWN not in name and graph.of_type(kind):
                    yield each.name, f"passes the {kind} {name}, which nothing creates"


def _granted(graph: Graph, route: Resource, namespace: str, service: str) -> bool:
    """Whether a namespace lets routes of another one to its Service; yes where somebody else may have granted it."""
    grants = [each for each in graph.of_type("ReferenceGrant") if namespace_of(each) in (namespace, UNKNOWN)]
    if not grants:
        return object_named(graph, "Namespace", "default", namespace) is None
    return any(
        any(
            (one.get("kind"), one.get("namespace")) == (route.kind, namespace_of(route))
            for one in spec.get("from") or []
        )
        and any(one.get("kind") == "Service" and one.get("name") in (None, service) for one in spec.get("to") or [])
        for spec in map(spec_of, grants)
    )


ENTRIES = {"web": 8000, "websecure": 8443}
"""Ports of Traefik's entry points by the chart's own values."""


@rule(
    source="Traefik: https://doc.traefik.io/traefik/providers/kubernetes-gateway/: a listener's port is that of an "
    "entry point, not that of the Service; chart traefik, values.yaml (ports.web.port 8000, ports.websecure.port 8443)",
    remedy="give the listener the port of the entry point: 8000 and 8443 unless ports.NAME.port says otherwise",
)
def listeners_are_at_entry_points(graph: Graph) -> Iterator[Finding]:
    """A Gateway of Traefik is of its class, and has its listeners at ports of entry points (Y11)."""
    for release in graph.of_type(*IN_CHARTS):
        values = release.inputs.get("values") or {}
        if chart_of(release) != "traefik":
            continue
        given = values.get("ports") or {}
        ports = {(given.get(name) or {}).get("port", ENTRIES.get(name)) for name in {*ENTRIES, *given}}
        own = value_at(values, "gatewayClass.name") or "traefik"
        for gateway in _of_gateways(graph, "Gateway"):
            name = spec_of(gateway).get("gatewayClassName")
            if name != own and get_close_matches(str(name), [own]):
                yield gateway.name, f"is of the class {name}, and {release.name} looks after {own} alone"
            for listener in spec_of(gateway).get("listeners") or []:
                port = listener.get("port")
                if spec_of(gateway).get("gatewayClassName") == own and port not in (*ports, UNKNOWN):
                    shown = ", ".join(str(one) for one in sorted(one for one in ports if one))
                    yield gateway.name, f"listens on {port}, and {release.name} has its entry points at {shown}"


def _certificates(graph: Graph) -> list[Resource]:
    return [each for each in graph.of_type("Certificate") if each.token.startswith("kubernetes:cert-manager.io/")]


@rule(
    source="Gateway API v1: ListenerReasonInvalidCertificateRef; cert-manager: "
    "https://cert-manager.io/docs/usage/certificate/ (a Certificate of an issuer that is not there stays not Ready)",
    remedy="let a Certificate write the Secret that the listener names, for its hostname, by a registered issuer",
)
def listeners_have_their_certificate(graph: Graph) -> Iterator[Finding]:
    """A listener's certificate is made for its hostname, by an issuer that exists (Y12)."""
    made = {(namespace_of(each), spec_of(each).get("secretName")): each for each in _certificates(graph)}
    issuers = {(each.kind, metadata_of(each).get("name")) for each in graph.of_type("Issuer", "ClusterIssuer")}
    for each in _certificates(graph):
        asked = spec_of(each).get("issuerRef") or {}
        named = (asked.get("kind", "Issuer"), asked.get("name"))
        if issuers and named not in issuers and UNKNOWN not in named:
            yield each.name, f"asks the {named[0]} {named[1]}, which nothing creates"
    for gateway in _of_gateways(graph, "Gateway"):
        for listener in spec_of(gateway).get("listeners") or []:
            for one in (listener.get("tls") or {}).get("certificateRefs") or []:
                place, name = str(one.get("namespace") or namespace_of(gateway)), one.get("name")
                certificate, host = made.get((place, name)), str(listener.get("hostname") or "")
                there = object_named(graph, "Secret", place, str(name)) is not None
                if made and certificate is None and not there and is_kubernetes(gateway) and name != UNKNOWN:
                    yield gateway.name, f"takes its certificate from the Secret {name}, which nothing writes"
                names = [str(name) for name in spec_of(certificate).get("dnsNames") or []] if certificate else []
                if host and names and UNKNOWN not in names and not any(_meets(name, host) for name in names):
                    yield gateway.name, f"shows {host} with a certificate for {', '.join(names)}"


DURATION, STAGING = "2160h", "staging"


@rule(
    source="cert-manager: https://cert-manager.io/docs/usage/certificate/ (renewBefore is less than duration), "
    "https://cert-manager.io/docs/configuration/acme/http01/ (no wildcards); Let's Encrypt: "
    "https://letsencrypt.org/docs/staging-environment/ (no browser trusts its roots)",
    remedy="renew within the duration; solve a wildcard by dns01; name the server of production",
)
def certificates_are_issued(graph: Graph) -> Iterator[Finding]:
    """A certificate can be issued as it is asked for, by whom clients trust (Y12)."""
    issuers = {(each.kind, metadata_of(each).get("name")): each for each in graph.of_type("Issuer", "ClusterIssuer")}
    for each in issuers.values():
        if STAGING in str((spec_of(each).get("acme") or {}).get("server")):
            yield each.name, "is the staging environment of its authority, which no client trusts"
    for each in _certificates(graph):
        spec, asked = spec_of(each), spec_of(each).get("issuerRef") or {}
        issuer = issuers.get((asked.get("kind", "Issuer"), asked.get("name")))
        solvers = ((spec_of(issuer).get("acme") or {}).get("solvers") or []) if issuer else []
        wild = [name for name in spec.get("dnsNames") or [] if str(name).startswith("*.")]
        if wild and solvers and not any("dns01" in one for one in solvers):
            yield (
                each.name,
                f"is for {wild[0]}, which {issuer.name if issuer else ''} proves by HTTP: it is never issued",
            )
        if spec.get("renewBefore") and seconds(spec["renewBefore"]) >= seconds(spec.get("duration", DURATION)) > 0:
            yield each.name, f"is renewed {spec['renewBefore']} before its end, of {spec.get('duration', DURATION)}"
