"""Cost Anomaly Detection: monitors and who is told. Source: AWS Billing and Cost Management API reference, Cost
Explorer's operations of these names; user guide, "Detecting unusual spend with AWS Cost Anomaly Detection".
"""

from dataclasses import dataclass
from typing import Any

from moto.ce import urls
from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.responses import ActionResult, EmptyResult

from rehearsal.cloud.account import ACCOUNT, PARTITION, now, regions, uuid
from rehearsal.cloud.service import Refusal
from rehearsal.cloud.tagging import Tagging, pairs


@dataclass(slots=True)
class Tagged:
    """A monitor or a subscription as described, and its tags."""

    body: dict[str, Any]
    tags: dict[str, str]


class AnomalyState(BaseBackend):  # type: ignore[misc]
    """Monitors and subscriptions of the account by ARN: the service has no regions."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.monitors: dict[str, Tagged] = {}
        self.subscriptions: dict[str, Tagged] = {}


STATE = BackendDict(AnomalyState, "ce", use_boto3_regions=False, additional_regions=[PARTITION])


def arns() -> list[str]:
    """The ARNs of all of them."""
    return [arn for _, state in regions(STATE) for arn in (*state.monitors, *state.subscriptions)]


class AnomalyResponder(Tagging):
    """Cost Explorer as far as anomalies go."""

    NAME = "ce"
    INVALID = "ValidationException"

    @property
    def state(self) -> AnomalyState:
        found: AnomalyState = STATE[ACCOUNT][PARTITION]
        return found

    def create_anomaly_monitor(self) -> ActionResult:
        """A custom one follows what its specification selects, a dimensional one every value of a dimension."""
        given = self.input
        monitor = given["AnomalyMonitor"]
        wanted = {"CUSTOM": "MonitorSpecification", "DIMENSIONAL": "MonitorDimension"}[monitor["MonitorType"]]
        if wanted not in monitor:
            raise Refusal("ValidationException", f"{wanted} is required for a monitor of type {monitor['MonitorType']}")
        arn = f"arn:aws:ce::{ACCOUNT}:anomalymonitor/{uuid()}"
        day = f"{now():%Y-%m-%d}"
        body = {"CreationDate": day, "LastUpdatedDate": day, **monitor, "MonitorArn": arn}
        self.state.monitors[arn] = Tagged(body, _tags(given))
        return ActionResult({"MonitorArn": arn})

    def get_anomaly_monitors(self) -> ActionResult:
        """Those of a list, or all on one page."""
        wanted = self.input.get("MonitorArnList") or list(self.state.monitors)
        return ActionResult({"AnomalyMonitors": [self._monitor(arn).body for arn in wanted]})

    def update_anomaly_monitor(self) -> ActionResult:
        """Change a monitor's name: nothing else of it can change."""
        given = self.input
        self._monitor(given["MonitorArn"]).body.update({"MonitorName": given["MonitorName"]})
        return ActionResult({"MonitorArn": given["MonitorArn"]})

    def delete_anomaly_monitor(self) -> EmptyResult:
        """Subscriptions to it stay, without it."""
        given = self.input
        self._monitor(given["MonitorArn"])
        del self.state.monitors[given["MonitorArn"]]
        for each in self.state.subscriptions.values():
            each.body["MonitorArnList"] = [arn for arn in each.body["MonitorArnList"] if arn in self.state.monitors]
        return EmptyResult()

    def create_anomaly_subscription(self) -> ActionResult:
        """At once through a topic, daily or weekly by e-mail (API reference, AnomalySubscription, Frequency)."""
        given = self.input
        body = given["AnomalySubscription"]
        self._check(body)
        arn = f"arn:aws:ce::{ACCOUNT}:anomalysubscription/{uuid()}"
        self.state.subscriptions[arn] = Tagged({"AccountId": ACCOUNT, **body, "SubscriptionArn": arn}, _tags(given))
        return ActionResult({"SubscriptionArn": arn})

    def get_anomaly_subscriptions(self) -> ActionResult:
        """Those of a list, or all on one page."""
        wanted = self.input.get("SubscriptionArnList") or list(self.state.subscriptions)
        return ActionResult({"AnomalySubscriptions": [self._subscription(arn).body for arn in wanted]})

    def update_anomaly_subscription(self) -> ActionResult:
        """Change what the request gives, and keep the rest."""
        given = self.input
        kept = self._subscription(given["SubscriptionArn"])
        body = {**kept.body, **given}
        self._check(body)
        kept.body = body
        return ActionResult({"SubscriptionArn": given["SubscriptionArn"]})

    def delete_anomaly_subscription(self) -> EmptyResult:
        """Remove a subscription."""
        arn = self.input["SubscriptionArn"]
        self._subscription(arn)
        del self.state.subscriptions[arn]
        return EmptyResult()

    def _check(self, body: dict[str, Any]) -> None:
        for arn in body["MonitorArnList"]:
            self._monitor(arn)
        wanted = "SNS" if body["Frequency"] == "IMMEDIATE" else "EMAIL"
        if any(each["Type"] != wanted for each in body["Subscribers"]):
            message = f"Subscribers of frequency {body['Frequency']} must be of type {wanted}"
            raise Refusal("ValidationException", message)

    def _monitor(self, arn: str) -> Tagged:
        if arn not in self.state.monitors:
            raise Refusal("UnknownMonitorException", f"Monitor {arn} does not exist")
        return self.state.monitors[arn]

    def _subscription(self, arn: str) -> Tagged:
        if arn not in self.state.subscriptions:
            raise Refusal("UnknownSubscriptionException", f"Subscription {arn} does not exist")
        return self.state.subscriptions[arn]

    def _tags_of(self, arn: str) -> dict[str, str]:
        found = {**self.state.monitors, **self.state.subscriptions}
        if arn not in found:
            raise Refusal("ResourceNotFoundException", f"{arn} does not exist", ResourceName=arn)
        return found[arn].tags


def _tags(given: dict[str, Any]) -> dict[str, str]:
    return pairs(given.get("ResourceTags", []))


def route() -> None:
    """Send Cost Explorer here instead of to moto, which knows no anomalies."""
    urls.url_paths["{0}/$"] = AnomalyResponder.dispatch
