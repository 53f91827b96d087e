"""Budgets: the time that they cover and when their count begins anew, as AWS documents it (API, TimePeriod)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cloud.budget_periods import NEVER, Cost, begins, filled, spent
from rehearsal.tests.cloud.conftest import Cloud

ACCOUNT, TAG = "123456789012", "user:gpucluster:stack$lab"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def budget(unit: str, start: str) -> dict[str, Any]:
    return {
        "TimeUnit": unit,
        "TimePeriod": {"Start": at(start), "End": NEVER},
        "CostFilters": {"TagKeyValue": [TAG]},
    }


COSTS = [
    Cost(at("2026-11-10T08:00"), TAG, 30.0),
    Cost(at("2026-11-29T08:00"), TAG, 5.0),
    Cost(at("2026-11-29T09:00"), "user:gpucluster:stack$dev", 100.0),
    Cost(at("2026-12-01T08:00"), TAG, 7.0),
]


@pytest.mark.parametrize(
    ("unit", "start", "usd"),
    [("MONTHLY", "2026-11-01", 7.0), ("ANNUALLY", "2026-11-29", 12.0), ("CUSTOM", "2026-11-29", 12.0)],
)
def test_a_count_begins_anew_with_each_period_and_a_custom_one_never(unit: str, start: str, usd: float) -> None:
    assert spent(budget(unit, start), COSTS, at("2026-12-02")) == usd
    assert spent(budget("CUSTOM", "2026-11-29T08:00"), COSTS, at("2026-11-29T08:00")) == 5.0
    assert spent(budget("CUSTOM", "2026-11-29"), COSTS, at("2027-12-02")) == 12.0
    assert spent(budget("ANNUALLY", "2026-11-29"), COSTS, at("2027-12-02")) == 0.0


@pytest.mark.parametrize(
    ("unit", "start"),
    [
        ("DAILY", "2018-05-24"),
        ("MONTHLY", "2018-05-01"),
        ("QUARTERLY", "2018-04-01"),
        ("ANNUALLY", "2018-01-01"),
        ("CUSTOM", "2018-05-24"),
    ],
)
def test_what_is_left_out_is_filled_in(unit: str, start: str) -> None:
    assert begins(unit, at("2018-05-24T11:07")) == at(start)
    assert filled({}, unit, at("2018-05-24T11:07")) == {"Start": at(start), "End": NEVER}


def test_a_budget_keeps_its_period_and_a_wrong_one_is_refused(cloud: Cloud) -> None:
    client = cloud.client("budgets")
    order: dict[str, Any] = {
        "BudgetName": "p",
        "BudgetType": "COST",
        "TimeUnit": "CUSTOM",
        "BudgetLimit": {"Amount": "1", "Unit": "USD"},
    }
    start = at("2026-11-29T08:00")
    client.create_budget(AccountId=ACCOUNT, Budget={**order, "TimePeriod": {"Start": start}})
    told = client.describe_budget(AccountId=ACCOUNT, BudgetName="p")["Budget"]["TimePeriod"]
    assert told == {"Start": start, "End": NEVER}
    client.update_budget(AccountId=ACCOUNT, NewBudget={**order, "BudgetLimit": {"Amount": "2", "Unit": "USD"}})
    assert client.describe_budget(AccountId=ACCOUNT, BudgetName="p")["Budget"]["TimePeriod"] == told
    wrong: tuple[dict[str, Any], ...] = (
        {"TimeUnit": "FORTNIGHTLY"},
        {"TimePeriod": {"Start": start, "End": start - timedelta(days=1)}},
    )
    for index, each in enumerate(wrong):
        with pytest.raises(ClientError, match="InvalidParameterException"):
            client.create_budget(AccountId=ACCOUNT, Budget={**order, "BudgetName": f"w{index}", **each})
    client.delete_budget(AccountId=ACCOUNT, BudgetName="p")
