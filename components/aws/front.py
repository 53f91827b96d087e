"""A certificate of AWS Certificate Manager at the cluster's load balancer, validated by records of a hosted zone.

ACM renews it as long as it is in use and the records stand (ACM user guide, "Managed certificate renewal"). The records
are made once: one that is there already belongs to another certificate of the account for the same name, and would go
with this stack.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component

TLS_PORT = 443
"""Of the Service: chart traefik, values.yaml, ports.websecure.exposedPort."""
TLS_POLICY = "ELBSecurityPolicy-TLS13-1-2-Res-2021-06"
"""TLS 1.2 and 1.3 with forward secrecy, as Traefik itself has it. Without a name a listener speaks TLS 1.0 as well
(Elastic Load Balancing API reference, CreateListener, SslPolicy: ELBSecurityPolicy-2016-08), and EKS' controller
modifies it at each look (aws_loadbalancer.go, ensureLoadBalancerv2 compares the names).
"""
_TTL_SECONDS = 300
_ISSUED_WITHIN = "30m"
"""ACM user guide, "DNS validation": usually minutes. A zone that nobody is led to fails `up` then, and not after the
provider's 75 minutes."""
_BEGIN = "service.beta.kubernetes.io/aws-load-balancer"


def ending_tls(certificate_arn: pulumi.Input[str]) -> dict[str, pulumi.Input[str]]:
    """Annotations of a Service whose network load balancer ends TLS at its port 443 and goes on to the targets by TLS.

    Other ports stay as they are. The load balancer does not look at the targets' certificates (Elastic Load Balancing
    user guide for Network Load Balancers, "Target groups"). Source of the words: kubernetes/cloud-provider-aws,
    pkg/providers/v1/aws.go, EnsureLoadBalancer. It knows none for protocols by ALPN, so callers speak HTTP/1.1.
    """
    return {
        f"{_BEGIN}-ssl-cert": certificate_arn,
        f"{_BEGIN}-ssl-ports": str(TLS_PORT),
        f"{_BEGIN}-ssl-negotiation-policy": TLS_POLICY,
        f"{_BEGIN}-backend-protocol": "ssl",
    }


@dataclass(frozen=True, kw_only=True)
class FrontCertificateArgs:
    """One certificate for `hostnames`, by the names of what is found there, validated in the hosted `zone`."""

    zone: str
    hostnames: Mapping[str, str]


class FrontCertificate(Component):
    """Certificate, a record for each name, and the wait for its issue. `arn` resolves when it is issued."""

    arn: pulumi.Output[str]

    def __init__(self, name: str, args: FrontCertificateArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        # The first is the common name, of 64 octets at most; ACM counts it among the others.
        names = sorted(args.hostnames.values(), key=lambda each: (len(each), each))
        certificate = aws.acm.Certificate(
            self.named("certificate"),
            domain_name=names[0],
            subject_alternative_names=names,
            validation_method="DNS",
            tags=self.tags("certificate"),
            opts=self.child(),
        )
        records = [self._record(args.zone, each, host, certificate) for each, host in args.hostnames.items()]
        issued = aws.acm.CertificateValidation(
            self.named("issued"),
            certificate_arn=certificate.arn,
            validation_record_fqdns=[each.fqdn for each in records],
            opts=self.child(custom_timeouts=pulumi.CustomTimeouts(create=_ISSUED_WITHIN)),
        )
        self.arn = issued.certificate_arn
        self.register_outputs({"arn": self.arn})

    def _record(self, zone: str, name: str, hostname: str, certificate: aws.acm.Certificate) -> aws.route53.Record:
        options = certificate.domain_validation_options
        return aws.route53.Record(
            self.named(f"{name}-record"),
            zone_id=zone,
            name=options.apply(lambda all_: str(_of(all_, hostname).resource_record_name)),
            type="CNAME",
            records=[options.apply(lambda all_: str(_of(all_, hostname).resource_record_value))],
            ttl=_TTL_SECONDS,
            opts=self.child(),
        )


def _of(
    options: Sequence[aws.acm.outputs.CertificateDomainValidationOption], hostname: str
) -> aws.acm.outputs.CertificateDomainValidationOption:
    """The record that ACM wants to see for a name; ACM lists them in any order."""
    return next(each for each in options if each.domain_name == hostname)
