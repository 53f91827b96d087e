"""Cost Anomaly Detection. Source: terraform-provider-aws internal/service/ce/anomaly_monitor.go and
anomaly_subscription.go.
"""

import json
from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Row, words
from rehearsal.plugins.aws.tagging import calls


def _monitor(inputs: dict[str, Any]) -> dict[str, Any]:
    """The specification is a JSON text in the API's own words."""
    chosen = inputs.pop("monitorSpecification", None)
    return {**inputs, **({"monitorSpecification": json.loads(chosen)} if chosen else {})}


def _monitor_look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    chosen = found.get("MonitorSpecification")
    return {"monitorSpecification": json.dumps(chosen)} if chosen else {}


ROWS: dict[str, Row] = {
    "aws:costexplorer/anomalyMonitor:AnomalyMonitor": Row(
        service="ce",
        create="create_anomaly_monitor",
        read="get_anomaly_monitors -> AnomalyMonitors[0]",
        key={"MonitorArn": "{MonitorArn}", "MonitorArnList": "{MonitorArn}"},
        id="{MonitorArn}",
        names={"name": "MonitorName", "arn": "MonitorArn"},
        inside="AnomalyMonitor",
        prepare=_monitor,
        documents=("monitorSpecification",),
        force_new=words("monitorType monitorDimension monitorSpecification"),
        updates=(("update_anomaly_monitor", ("name",)),),
        look=_monitor_look,
        tags=calls({"ResourceArn": "{MonitorArn}"}, read="list_tags_for_resource -> ResourceTags"),
    ),
    "aws:costexplorer/anomalySubscription:AnomalySubscription": Row(
        service="ce",
        create="create_anomaly_subscription",
        read="get_anomaly_subscriptions -> AnomalySubscriptions[0]",
        key={"SubscriptionArn": "{SubscriptionArn}", "SubscriptionArnList": "{SubscriptionArn}"},
        id="{SubscriptionArn}",
        names={"name": "SubscriptionName", "arn": "SubscriptionArn", "monitorArnLists": "MonitorArnList"},
        inside="AnomalySubscription",
        computed=words("accountId thresholdExpression"),
        force_new=("name",),
        updates=(("update_anomaly_subscription", words("frequency monitorArnLists subscribers thresholdExpression")),),
        sets=("subscribers",),
        tags=calls({"ResourceArn": "{SubscriptionArn}"}, read="list_tags_for_resource -> ResourceTags"),
    ),
}
