"""What callers' certificates stand on: a public zone that has the hostnames, or an issued certificate for them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from doctor.account import AbsentError, Account
from doctor.case import Case
from doctor.results import Result, Status, judged

CHECK = "certificate"
_ISSUER = "gpucluster:serving.gateway.issuer"
Wrong = tuple[Status, str, str]


def issuers(case: Case, account: Account) -> Iterable[Result]:
    """The hosted zone, or the certificate, that the gateway's issuer names. The plan cannot look into either."""
    gateway = case.plan.gateway
    if gateway is None:
        return
    acme, front, hosts = gateway.acme, gateway.front, sorted(gateway.hostnames.values())
    if zone := (acme.zone if acme else front.zone if front else None):
        yield _zone(account, zone, hosts)
    if front and front.certificate:
        yield _certificate(account, front.certificate, hosts)


def _zone(account: Account, zone: str, hosts: list[str]) -> Result:
    try:
        told = account.get("route53", "GetHostedZone", Id=zone)["HostedZone"]
    except AbsentError:
        wrong = [(Status.FAIL, "the account has no such hosted zone", f"name one of this account in {_ISSUER}.zone")]
        return judged(CHECK, zone, "", wrong)
    return judged(CHECK, zone, f"{told['Name']} has the gateway's hostnames", list(_of_zone(told, hosts)))


def _of_zone(told: Mapping[str, Any], hosts: list[str]) -> Iterator[Wrong]:
    name = str(told["Name"]).rstrip(".")
    if told.get("Config", {}).get("PrivateZone"):
        yield (
            Status.FAIL,
            f"{name} is a private zone, into which no authority outside looks",
            f"name the public zone of the hostnames in {_ISSUER}.zone",
        )
    if others := [each for each in hosts if each != name and not each.endswith(f".{name}")]:
        yield (
            Status.FAIL,
            f"{name} has no place for {', '.join(others)}",
            f"name the zone of the hostnames in {_ISSUER}.zone, or correct gpucluster:serving.gateway.domain",
        )


def _certificate(account: Account, arn: str, hosts: list[str]) -> Result:
    try:
        told = account.get("acm", "DescribeCertificate", CertificateArn=arn)["Certificate"]
    except AbsentError:
        wrong = [(Status.FAIL, "the account has no such certificate in this region", f"correct {_ISSUER}.certificate")]
        return judged(CHECK, arn, "", wrong)
    wrong = []
    if told["Status"] != "ISSUED":
        remedy = "validate it, or name an issued one"
        wrong.append((Status.FAIL, f"it is {told['Status']}, and load balancers show issued ones only", remedy))
    names = told.get("SubjectAlternativeNames") or [told["DomainName"]]
    if others := [each for each in hosts if each not in names and f"*.{each.partition('.')[2]}" not in names]:
        sentence = f"it is for {', '.join(sorted(names))}, and not for {', '.join(others)}"
        remedy = f"name one for all hostnames in {_ISSUER}.certificate, or a zone there"
        wrong.append((Status.FAIL, sentence, remedy))
    if told.get("Type") == "IMPORTED":
        sentence = f"it was imported, so ACM does not renew it; it ends {told['NotAfter']:%Y-%m-%d}"
        wrong.append((Status.WARN, sentence, "import the next one in time, or name a zone: ACM renews what it issues"))
    return judged(CHECK, arn, "is issued for the gateway's hostnames", wrong)
