"""Systems Manager: parameters that were in the account before the stack."""

from collections.abc import Mapping

from moto.ssm.models import Parameter, ssm_backends

from rehearsal.cloud.account import ACCOUNT, now


def set_parameters(region: str, values: Mapping[str, str]) -> list[str]:
    """Make the versions that are not there yet, of plain text, by NAME:VERSION; returns the names of all parameters.

    A version is never written again, and older ones may be gone: Parameter Store keeps the last hundred (Systems
    Manager user guide, "Working with parameter versions in Parameter Store").
    """
    kept = ssm_backends[ACCOUNT][region]._parameters
    for key, value in values.items():
        name, _, version = key.partition(":")
        if any(each.version == int(version) for each in kept[name]):
            continue
        kept[name].append(text(name, value, int(version), "aws:ec2:image"))
        kept[name].sort(key=lambda each: each.version)
    return sorted(kept)


def text(name: str, value: str, version: int = 1, data_type: str = "text", account: str = ACCOUNT) -> Parameter:
    """A version of a parameter of plain text."""
    return Parameter(
        account_id=account,
        name=name,
        value=value,
        parameter_type="String",
        description=None,
        allowed_pattern=None,
        keyid=None,
        last_modified_date=now(),
        version=version,
        data_type=data_type,
    )
