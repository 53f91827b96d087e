"""ACM: a public certificate is issued when its records are found, and stays as long as a load balancer shows it.

Sources: ACM user guide, "AWS Certificate Manager DNS validation" (a record is the same for one name and one account;
its name begins with an underscore; the status is Pending validation until it is found); ACM API reference,
DescribeCertificate (CertificateDetail: IssuedAt, NotBefore, NotAfter and Serial only of what is issued) and
DeleteCertificate (ResourceInUseException); Elastic Load Balancing API reference, CreateListener and ModifyListener
(CertificateNotFound, UnsupportedCertificate, DuplicateListener: one of a port, whatever its protocol).
"""

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moto.acm.models import AWSCertificateManagerBackend, CertBundle, acm_backends
from moto.core.exceptions import AWSError
from moto.elbv2.exceptions import DuplicateListenerError, ELBClientError
from moto.elbv2.models import ELBv2Backend
from moto.route53.models import route53_backends

from rehearsal.cloud.account import ACCOUNT, regions
from rehearsal.cloud.amend import Amendments

AMENDMENTS = Amendments()
UNTIL_ISSUED = ("IssuedAt", "NotBefore", "NotAfter", "Serial", "Issuer")


class InUseError(AWSError):  # type: ignore[misc]
    """A certificate that something shows is not deleted."""

    TYPE = "ResourceInUseException"


def set_certificates(region: str, names: Mapping[str, Sequence[str]]) -> list[str]:
    """Issue certificates that are not there yet: names by ARN. Returns all ARNs."""
    backend = acm_backends[ACCOUNT][region]
    for arn, hosts in names.items():
        if arn not in backend._certificates:
            made = CertBundle.generate_cert(hosts[0], ACCOUNT, region, sans=list(hosts))
            made.arn, made.status = arn, "ISSUED"
            backend._certificates[arn] = made
    return sorted(backend._certificates)


def record_of(hostname: str) -> tuple[str, str]:
    """Name and value of the record that shows whose a hostname is, both with a dot at the end."""
    bare = hostname.removeprefix("*.")
    digests = [hashlib.md5(f"{what} {ACCOUNT} {bare}".encode()).hexdigest() for what in ("name", "value")]  # noqa: S324
    return f"_{digests[0]}.{bare}.", f"_{digests[1]}.jkddzztszm.acm-validations.aws."


def _stands(hostname: str) -> bool:
    """Whether the record is in a public zone of the account. One that no parent leads to counts as well."""
    name, value = record_of(hostname)
    zones = [zone for _, backend in regions(route53_backends) for zone in backend.zones.values()]
    return any(
        (each.name.rstrip("."), each.type) == (name.rstrip("."), "CNAME")
        and [str(one).rstrip(".") for one in each.records] == [value.rstrip(".")]
        for zone in zones
        if not zone.private_zone
        for each in zone.rrsets
    )


@AMENDMENTS.around(CertBundle, "check")
def check(original: Any, self: Any) -> None:
    """Issued when all its records are found, whatever time has passed; a later look does not take it back."""
    if self.type != "AMAZON_ISSUED" or self.status != "PENDING_VALIDATION":
        original(self)
    elif all(_stands(name) for name in self.sans):
        self.status = "ISSUED"


@AMENDMENTS.around(CertBundle, "describe")
def describe(original: Any, self: Any) -> Any:
    """Each name's own record, what shows the certificate now, and of a pending one nothing that only an issued has."""
    told = original(self)
    body = told["Certificate"]
    body["InUseBy"] = list(_shown_by(self.arn))
    body["KeyAlgorithm"] = body["KeyAlgorithm"].replace("_", "-", 1)
    for each in body.get("DomainValidationOptions", ()):
        name, value = record_of(each["DomainName"])
        each["ResourceRecord"] = {"Name": name, "Type": "CNAME", "Value": value}
        if self.status == "PENDING_VALIDATION":
            each["ValidationStatus"] = "SUCCESS" if _stands(each["DomainName"]) else "PENDING_VALIDATION"
    if self.status == "PENDING_VALIDATION":
        for key in UNTIL_ISSUED:
            body.pop(key, None)
    else:
        body["RenewalEligibility"] = "ELIGIBLE" if body["InUseBy"] else "INELIGIBLE"
    return told


@AMENDMENTS.around(AWSCertificateManagerBackend, "delete_certificate")
def delete_certificate(original: Any, self: Any, arn: str) -> None:
    """Not while a load balancer shows it."""
    if list(_shown_by(arn)):
        raise InUseError(f"Certificate {arn} in account {self.account_id} is in use.")
    original(self, arn)


def _shown_by(arn: str) -> Iterator[str]:
    """ARNs of load balancers with a listener of this certificate; none where nothing has used the service."""
    module = sys.modules.get("moto.elbv2.models")
    for _, backend in regions(module.elbv2_backends) if module else ():
        for balancer in backend.load_balancers.values():
            if any(arn in each.certificates for each in balancer.listeners.values()):
                yield str(balancer.arn)


@AMENDMENTS.around(ELBv2Backend, "create_listener")
def create_listener(original: Any, self: Any, load_balancer_arn: str, *args: Any, **kwargs: Any) -> Any:
    """At a port that has none, with a certificate that is here and issued."""
    balancer = self.load_balancers.get(load_balancer_arn)
    if balancer and str(kwargs["port"]) in [str(each.port) for each in balancer.listeners.values()]:
        raise DuplicateListenerError
    _check_shown(self, kwargs.get("certificate"))
    return original(self, load_balancer_arn, *args, **kwargs)


@AMENDMENTS.around(ELBv2Backend, "modify_listener")
def modify_listener(
    original: Any, self: Any, arn: str, port: Any, protocol: str | None, policy: str | None, shown: Any, actions: Any
) -> Any:
    """The same of another certificate. moto knows no TLS here, which network load balancers have instead of HTTPS."""
    for each in shown or []:
        _check_shown(self, each["CertificateArn"])
    if protocol != "TLS":
        return original(self, arn, port, protocol, policy, shown, actions)
    (listener,) = self.describe_listeners(load_balancer_arn=None, listener_arns=[arn])
    listener.protocol = protocol
    if shown:
        listener.certificates = [each["CertificateArn"] for each in shown]
        listener.certificate = listener.certificates[0]
    return original(self, arn, port, None, policy, shown, actions)


@AMENDMENTS.around(ELBv2Backend, "create_target_group")
def create_target_group(original: Any, self: Any, name: str, **kwargs: Any) -> Any:
    """One of this name with the same settings is the answer (Elastic Load Balancing API reference, CreateTargetGroup:
    the operation is idempotent); a controller asks again after a listener was refused.
    """
    for each in self.target_groups.values():
        wanted = (name, kwargs.get("protocol"), str(kwargs.get("port")), kwargs.get("vpc_id"))
        if (each.name, each.protocol, str(each.port), each.vpc_id) == wanted:
            return each
    return original(self, name, **kwargs)


@AMENDMENTS.around(ELBv2Backend, "describe_target_groups")
def describe_target_groups(original: Any, self: Any, load_balancer_arn: str | None, *args: Any) -> Any:
    """A load balancer that is there and has none has none: TargetGroupNotFound is for groups that were named."""
    if load_balancer_arn in self.load_balancers:
        every = self.target_groups.values()
        return [each for each in every if load_balancer_arn in each.load_balancer_arns]
    return original(self, load_balancer_arn, *args)


def _check_shown(self: Any, arn: str | None) -> None:
    if not arn or ":acm:" not in arn:
        return
    found = acm_backends[ACCOUNT][self.region_name]._certificates.get(arn)
    if found is None:
        raise ELBClientError("CertificateNotFound", f"Certificate '{arn}' not found")
    found.check()
    if found.status != "ISSUED":
        raise ELBClientError(
            "UnsupportedCertificate",
            f"The certificate '{arn}' must have a fully-qualified domain name, a supported signature, and a supported "
            "key size.",
        )
