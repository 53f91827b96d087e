"""Certificates, and the wait for their issue. Source: terraform-provider-aws internal/service/acm/certificate.go,
certificate_validation.go.
"""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Row, Tags, Wait, words
from rehearsal.plugins.aws.shapes import pairs


def _write_tags(obj: Object, added: Mapping[str, str], removed: list[str]) -> None:
    if removed:
        obj.call("remove_tags_from_certificate", CertificateArn=obj.id, Tags=[{"Key": key} for key in removed])
    if added:
        tags = [{"Key": key, "Value": value} for key, value in added.items()]
        obj.call("add_tags_to_certificate", CertificateArn=obj.id, Tags=tags)


def _read_tags(obj: Object) -> Mapping[str, str]:
    return pairs(obj.search("list_tags_for_certificate -> Tags", CertificateArn=obj.id) or {})


def _look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """A key's algorithm is told with a hyphen and taken with an underscore."""
    options = found.get("DomainValidationOptions") or []
    records = [
        {
            "domainName": each["DomainName"],
            "resourceRecordName": each["ResourceRecord"]["Name"],
            "resourceRecordType": each["ResourceRecord"]["Type"],
            "resourceRecordValue": each["ResourceRecord"]["Value"],
        }
        for each in options
        if "ResourceRecord" in each
    ]
    return {
        "arn": found["CertificateArn"],
        "domainValidationOptions": records,
        "keyAlgorithm": str(found.get("KeyAlgorithm", "")).replace("-", "_"),
        "pendingRenewal": False,
        "validationMethod": options[0]["ValidationMethod"] if options else "NONE",
        "validationEmails": [],
    }


def _awaited(obj: Object) -> Any:
    """A certificate that timed out counts as gone."""
    try:
        found = obj.search("describe_certificate -> Certificate", CertificateArn=obj.fill("{certificateArn}"))
    except CallError as error:
        if error.not_found:
            return None
        raise
    return {**found, "certificateArn": found["CertificateArn"]}


ROWS: dict[str, Row] = {
    "aws:acm/certificate:Certificate": Row(
        create="request_certificate",
        read="describe_certificate -> Certificate",
        id="{CertificateArn}",
        key={"CertificateArn": "{id}"},
        listing="list_certificates -> CertificateSummaryList",
        names={"arn": "CertificateArn"},
        force_new=words("domainName subjectAlternativeNames validationMethod keyAlgorithm validationOptions"),
        computed=words("domainName subjectAlternativeNames validationMethod keyAlgorithm options"),
        sets=("subjectAlternativeNames",),
        look=_look,
        busy=("ResourceInUseException",),
        tags=Tags(_write_tags, _read_tags),
    ),
    "aws:acm/certificateValidation:CertificateValidation": Row(
        create="describe_certificate",
        read=_awaited,
        delete=lambda _: None,
        # The provider's own is a time, by which nobody can look for it.
        id="{certificateArn}",
        key={"CertificateArn": "{certificateArn}"},
        unseen=("validationRecordFqdns",),
        local=("validationRecordFqdns",),
        force_new=words("certificateArn validationRecordFqdns"),
        sets=("validationRecordFqdns",),
        look=lambda _, found: found,
        wait=Wait(status="Status", done=("ISSUED",), failed=("FAILED", "REVOKED", "VALIDATION_TIMED_OUT")),
        timeouts=(75 * MINUTE, 75 * MINUTE, 75 * MINUTE),
    ),
}
