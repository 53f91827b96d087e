"""AWS Budgets as far as cost budgets with notices go. Source: AWS Billing and Cost Management API reference, operations
of these names, and "Quotas and restrictions" of the Cost Management user guide.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from moto.budgets import urls
from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.responses import ActionResult, EmptyResult

from rehearsal.cloud.account import ACCOUNT, PARTITION, regions
from rehearsal.cloud.budget_periods import filled
from rehearsal.cloud.service import Refusal
from rehearsal.cloud.tagging import Tagging, pairs

NOTICES_PER_BUDGET = 10
TOPICS_PER_NOTICE, EMAILS_PER_NOTICE = 1, 10
"""API reference, NotificationWithSubscribers and Notification."""
COST_TYPES = {
    "IncludeTax": True,
    "IncludeSubscription": True,
    "UseBlended": False,
    "IncludeRefund": True,
    "IncludeCredit": True,
    "IncludeUpfront": True,
    "IncludeRecurring": True,
    "IncludeOtherSubscription": True,
    "IncludeSupport": True,
    "IncludeDiscount": True,
    "UseAmortized": False,
}
"""API reference, CostTypes: what counts where a budget does not say."""

Notice = tuple[str, str, float, str]


@dataclass(slots=True)
class Budget:
    """A budget as described, and who is told of each of its notices."""

    body: dict[str, Any]
    tags: dict[str, str]
    notices: dict[Notice, list[dict[str, str]]] = field(default_factory=dict)


class BudgetsState(BaseBackend):  # type: ignore[misc]
    """The budgets of the account by name: the service has no regions."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.budgets: dict[str, Budget] = {}


STATE = BackendDict(BudgetsState, "budgets", use_boto3_regions=False, additional_regions=[PARTITION])


def budgets() -> dict[str, Budget]:
    """Every budget of the account by name."""
    return {name: each for _, state in regions(STATE) for name, each in state.budgets.items()}


class BudgetsResponder(Tagging):
    """Budgets, their notices and subscribers."""

    NAME = "budgets"
    INVALID = "InvalidParameterException"

    @property
    def state(self) -> dict[str, Budget]:
        found: dict[str, Budget] = STATE[ACCOUNT][PARTITION].budgets
        return found

    def create_budget(self) -> EmptyResult:
        """Names are unique in an account."""
        given = self._own(self.input)
        name = given["Budget"]["BudgetName"]
        if name in self.state:
            raise Refusal("DuplicateRecordException", f"Error creating budget: {name} - the budget already exists.")
        self.state[name] = Budget(_body(given["Budget"]), pairs(given.get("ResourceTags", [])))
        for each in given.get("NotificationsWithSubscribers", []):
            self._add(self.state[name], each["Notification"], each["Subscribers"])
        return EmptyResult()

    def describe_budget(self) -> ActionResult:
        """A budget as it was ordered, with what AWS fills in."""
        return ActionResult({"Budget": self._budget(self.input).body})

    def update_budget(self) -> EmptyResult:
        """Change all of a budget but its name."""
        given = self._own(self.input)
        budget = self._budget({**given, "BudgetName": given["NewBudget"]["BudgetName"]})
        kept = {"TimePeriod": budget.body["TimePeriod"]} if "TimePeriod" not in given["NewBudget"] else {}
        budget.body = _body({**given["NewBudget"], **kept})
        return EmptyResult()

    def delete_budget(self) -> EmptyResult:
        """Remove a budget with its notifications."""
        given = self.input
        self._budget(given)
        del self.state[given["BudgetName"]]
        return EmptyResult()

    def create_notification(self) -> EmptyResult:
        """One of a kind, a type and a threshold for each budget."""
        given = self.input
        self._add(self._budget(given), given["Notification"], given["Subscribers"])
        return EmptyResult()

    def delete_notification(self) -> EmptyResult:
        """Remove a notification with its subscribers."""
        given = self.input
        budget, key = self._noticed(given)
        del budget.notices[key]
        return EmptyResult()

    def describe_notifications_for_budget(self) -> ActionResult:
        """The thresholds of a budget at which people are told."""
        names = ("NotificationType", "ComparisonOperator", "Threshold", "ThresholdType")
        told = (dict(zip(names, key, strict=True)) for key in self._budget(self.input).notices)
        return ActionResult({"Notifications": [{**each, "NotificationState": "OK"} for each in told]})

    def describe_subscribers_for_notification(self) -> ActionResult:
        """The subscribers of a notification."""
        budget, key = self._noticed(self.input)
        return ActionResult({"Subscribers": budget.notices[key]})

    def _add(self, budget: Budget, notice: dict[str, Any], subscribers: list[dict[str, str]]) -> None:
        key = _key(notice)
        if key in budget.notices:
            raise Refusal("DuplicateRecordException", "The notification already exists.")
        if len(budget.notices) >= NOTICES_PER_BUDGET:
            raise Refusal("CreationLimitExceededException", f"A budget has at most {NOTICES_PER_BUDGET} notifications.")
        kinds = [each["SubscriptionType"] for each in subscribers]
        if kinds.count("SNS") > TOPICS_PER_NOTICE or kinds.count("EMAIL") > EMAILS_PER_NOTICE:
            message = f"A notification has at most {TOPICS_PER_NOTICE} SNS and {EMAILS_PER_NOTICE} email subscribers."
            raise Refusal("CreationLimitExceededException", message)
        budget.notices[key] = subscribers

    def _own(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["AccountId"] != ACCOUNT:
            raise Refusal("AccessDeniedException", f"Account {given['AccountId']} is not yours.")
        return given

    def _budget(self, given: dict[str, Any]) -> Budget:
        name = self._own(given)["BudgetName"]
        if name not in self.state:
            raise Refusal("NotFoundException", f"Unable to get budget: {name} - the budget doesn't exist.")
        return self.state[name]

    def _noticed(self, given: dict[str, Any]) -> tuple[Budget, Notice]:
        budget, key = self._budget(given), _key(given["Notification"])
        if key not in budget.notices:
            raise Refusal("NotFoundException", "The notification doesn't exist.")
        return budget, key

    def _tags_of(self, arn: str) -> dict[str, str]:
        name = arn.partition(":budget/")[2]
        if name not in self.state:
            raise Refusal("NotFoundException", f"{arn} doesn't exist.")
        return self.state[name].tags


def _body(budget: dict[str, Any]) -> dict[str, Any]:
    try:
        period = filled(budget.get("TimePeriod") or {}, budget["TimeUnit"], datetime.now(UTC))
    except ValueError as error:
        raise Refusal("InvalidParameterException", str(error)) from None
    spent = {"ActualSpend": {"Amount": "0.0", "Unit": "USD"}}
    return {"CostTypes": COST_TYPES, "CostFilters": {}, "CalculatedSpend": spent, **budget, "TimePeriod": period}


def _key(notice: dict[str, Any]) -> Notice:
    kind = notice.get("ThresholdType") or "PERCENTAGE"
    return notice["NotificationType"], notice["ComparisonOperator"], float(notice["Threshold"]), kind


def route() -> None:
    """Send Budgets here instead of to moto, which knows neither updates nor subscribers nor tags."""
    urls.url_paths["{0}/$"] = BudgetsResponder.dispatch
