"""Certificates of ACM, and the records that they are validated by."""

from typing import Any

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import TAGGED, Case
from rehearsal.tests.plugins.aws.world import World


def certificate(_: World) -> dict[str, Any]:
    """For two names, the first of which is among the others, as ACM counts it."""
    one, other = f"{w.name('chat')}.llm.example.com", f"{w.name('code')}.llm.example.com"
    return {"domainName": one, "subjectAlternativeNames": [one, other], "validationMethod": "DNS"}


def record(world: World) -> dict[str, Any]:
    value = "_9.acm-validations.aws."
    stem = w.name("_0")
    return {"zoneId": world.zone, "name": f"{stem}.llm.example.com", "type": "CNAME", "ttl": 300, "records": [value]}


CASES = (
    Case(
        w.CERTIFICATE,
        certificate,
        *TAGGED,
        replaces={"subjectAlternativeNames": ["other.llm.example.com"]},
        replaced=("subjectAlternativeNames",),
        outputs=("arn", "domainValidationOptions", "status"),
    ),
    Case(
        w.CERTIFICATE_VALIDATION,
        lambda world: {"certificateArn": world.issued.outputs["arn"]},
        replaces=lambda world: {"certificateArn": world.certificate.outputs["arn"] + "0"},
        replaced=("certificateArn",),
        stays=True,
        outputs=(),
    ),
    Case(
        w.RECORD,
        record,
        {"ttl": 60},
        {"ttl": "update"},
        {"name": "_other.llm.example.com"},
        ("name",),
        outputs=("fqdn",),
        refused={"NoSuchHostedZone": {"zoneId": "Z0123456789ABCDEFGHIJ"}},
    ),
)
