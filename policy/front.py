"""Rules about TLS that a load balancer ends: at which port, how it goes on, and that its certificate is issued."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import metadata_of, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.rule import Finding, rule

BEGIN = "service.beta.kubernetes.io/aws-load-balancer"
CERTIFICATE, VALIDATION, RECORD = (
    "aws:acm/certificate:Certificate",
    "aws:acm/certificateValidation:CertificateValidation",
    "aws:route53/record:Record",
)
TLS_PORT = "443"
NAMED = {"websecure": TLS_PORT}
"""Ports of the chart's Service by their names."""
OLD = ("ELBSecurityPolicy-2016-08", "ELBSecurityPolicy-TLS-1-0", "ELBSecurityPolicy-TLS-1-1", "TLS13-1-0", "TLS13-1-1")


def _shown(graph: Graph) -> Iterator[tuple[Resource, Mapping[str, Any]]]:
    """What has a load balancer that shows a certificate, with its annotations."""
    for each in graph.of_type("Service", *IN_CHARTS):
        found = metadata_of(each).get("annotations") if each.kind == "Service" else None
        if each.kind in IN_CHARTS:
            found = value_at(each.inputs.get("values") or {}, "service.annotations")
        if isinstance(found, Mapping) and found.get(f"{BEGIN}-ssl-cert"):
            yield each, found


def _certificates(graph: Graph, annotations: Mapping[str, Any]) -> list[Resource]:
    """Those of the stack that the load balancer with these annotations shows: one, or none if it is somebody else's."""
    arn = annotations[f"{BEGIN}-ssl-cert"]
    return [one for one in graph.of_type(CERTIFICATE) if one.outputs.get("arn") == arn != UNKNOWN]


@rule(
    source="kubernetes/cloud-provider-aws: pkg/providers/v1/aws.go, EnsureLoadBalancer (without ssl-ports every port "
    "of the Service ends TLS; without backend-protocol ssl it goes on in plain); Elastic Load Balancing API reference, "
    "CreateListener (SslPolicy: ELBSecurityPolicy-2016-08 by default, with TLS 1.0)",
    remedy="set aws-load-balancer-ssl-ports to 443, -backend-protocol to ssl and -ssl-negotiation-policy to a policy "
    "of TLS 1.2 or later",
)
def load_balancers_end_tls_at_its_port(graph: Graph) -> Iterator[Finding]:
    """TLS ends at port 443 alone, by TLS 1.2 or later, and goes on by TLS to a gateway that speaks it (Y12)."""
    for each, found in _shown(graph):
        ports = str(found.get(f"{BEGIN}-ssl-ports") or "*").split(",")
        if [NAMED.get(port, port) for port in ports] != [TLS_PORT]:
            yield each.name, f"ends TLS at {','.join(ports)}, and callers speak it at {TLS_PORT}"
        policy = found.get(f"{BEGIN}-ssl-negotiation-policy")
        if not policy or any(old in str(policy) for old in OLD):
            yield each.name, f"ends TLS by {policy or 'the default policy'}, which takes TLS 1.0 or 1.1"
        backend = found.get(f"{BEGIN}-backend-protocol")
        if each.kind in IN_CHARTS and chart_of(each) == "traefik" and backend != "ssl":
            yield each.name, f"goes on by {backend or 'tcp'} to an entry point that speaks TLS"


@rule(
    source="AWS Certificate Manager user guide: https://docs.aws.amazon.com/acm/latest/userguide/dns-validation.html "
    "(a certificate stays pending without the record of each of its names); Elastic Load Balancing API reference, "
    "CreateListener (UnsupportedCertificate)",
    remedy="take the ARN from a CertificateValidation of the certificate, which has a Record for each of its names",
)
def shown_certificates_are_issued(graph: Graph) -> Iterator[Finding]:
    """A load balancer's certificate is issued before it is shown: its records stand, and it is waited for (Y12)."""
    for certificate in graph.of_type(CERTIFICATE):
        names = [str(certificate.inputs.get("domainName")), *certificate.inputs.get("subjectAlternativeNames", ())]
        records = [str(each.inputs.get("name")).rstrip(".") for each in graph.of_type(RECORD)]
        if certificate.inputs.get("validationMethod") != "DNS":
            yield certificate.name, "is validated by letters that somebody has to answer"
        lost = [name for name in dict.fromkeys(names) if not any(each.endswith(f".{name}") for each in records)]
        if lost and UNKNOWN not in records:
            yield certificate.name, f"is for {', '.join(lost)}, and no record shows whose that is"
    waits = {each.urn: each for each in graph.of_type(VALIDATION)}
    for each, found in _shown(graph):
        own = _certificates(graph, found)
        if own and not any(
            waits[urn].inputs.get("certificateArn") == own[0].outputs["arn"] for urn in each.depends_on if urn in waits
        ):
            yield each.name, f"shows {own[0].name} without waiting until it is issued"


@rule(
    source="Gateway API v1: https://gateway-api.sigs.k8s.io/reference/spec/ (Listener.hostname); RFC 6125: a client "
    "refuses a certificate without the name that it asked for",
    remedy="request the certificate for the hostname of each listener",
)
def shown_certificates_are_for_the_hostnames(graph: Graph) -> Iterator[Finding]:
    """A certificate at the load balancer is for every hostname behind it (Y12)."""
    for each, found in _shown(graph):
        own = _certificates(graph, found)
        if not own:
            continue
        inputs = own[0].inputs
        names = {str(inputs.get("domainName")), *map(str, inputs.get("subjectAlternativeNames", ()))}
        for gateway in graph.of_type("Gateway"):
            for listener in spec_of(gateway).get("listeners") or ():
                host = str(listener.get("hostname") or "")
                if host and host not in names and f"*.{host.partition('.')[2]}" not in names:
                    yield each.name, f"shows {host} with a certificate for {', '.join(sorted(names))}"
