"""Prices beside those of the instances: what is charged by use, what parts cost, and what quotas begin with."""

import pytest

from catalogue import quotas
from catalogue.network_types import Generation
from catalogue.parts import PARTS
from catalogue.prices import RATES, SERVICES
from catalogue.quotas import Quota
from catalogue.types import Per, Rate, UsageClass
from planner.fabric.cabling import Span, cable_for

SLOW = {Generation.ETHERNET_1G, Generation.ETHERNET_10G, Generation.ETHERNET_25G}
FAST = [generation for generation in Generation if generation not in SLOW]


def test_rates_carry_unit_range_day_and_source() -> None:
    """PW14: per GB and per GB-month are not mixed; NAT is charged by the GB as well as by the hour."""
    assert {name: rate.per for name, rate in RATES.items()} == {
        "nat-gb": Per.GB,
        "cross-zone-gb": Per.GB,
        "s3-gb-month": Per.GB_MONTH,
        "efs-gb-month": Per.GB_MONTH,
        "efs-read-gb": Per.GB,
        "efs-write-gb": Per.GB,
        "efs-backup-gb-month": Per.GB_MONTH,
        "logs-gb": Per.GB,
        "metrics-thousand": Per.THOUSAND,
    }
    assert all(rate.low <= rate.usd <= rate.high and rate.source and rate.as_of.year >= 2026 for rate in RATES.values())
    assert (RATES["nat-gb"].usd, RATES["s3-gb-month"].usd) == (0.045, 0.023)
    assert (SERVICES["nat"].usd_per_hour, SERVICES["eks"].usd_per_hour) == (0.045, 0.10)


def test_a_rate_outside_its_range_is_refused() -> None:
    """PW14: a table with a slip in it does not load."""
    good = RATES["nat-gb"]
    with pytest.raises(ValueError, match="outside the range it was seen in"):
        Rate(usd=good.high + 1, per=Per.GB, low=good.low, high=good.high, as_of=good.as_of, source="a slip")


@pytest.mark.parametrize("generation", FAST)
@pytest.mark.parametrize("span", [Span.NODE_LEAF, Span.LEAF_SPINE])
@pytest.mark.parametrize("length_m", [1, 3, 5, 30, 50])
def test_cables_that_are_chosen_have_a_price(generation: Generation, span: Span, length_m: float) -> None:
    """FB16, PW11: no bill leaves the cables or the modules of a fabric out."""
    kind = cable_for(span, generation, length_m)
    assert kind
    assert f"{generation} {kind.kind} cable" in PARTS
    if kind.transceivers:
        assert f"{generation} switch transceiver" in PARTS
        assert f"{generation} card transceiver" in PARTS


def test_quotas_begin_where_aws_says() -> None:
    """Z04: no GPUs at all, five vCPU of ordinary instances, 100,800 GiB of each Lustre type."""
    assert quotas.INSTANCE_QUOTAS[UsageClass.ON_DEMAND]["p"].default == 0
    assert quotas.INSTANCE_QUOTAS[UsageClass.ON_DEMAND][""].default == 5
    assert {quota.default for quota in quotas.FSX_STORAGE.values()} == {100_800}
    every = [quota for table in quotas.INSTANCE_QUOTAS.values() for quota in table.values()]
    every += [value for value in vars(quotas).values() if isinstance(value, Quota)]
    assert all(quota.source for quota in every)
    codes = [quota.code for quota in every if quota.code]
    assert len(set(codes)) == len(codes)
