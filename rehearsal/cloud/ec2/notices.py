"""Notices of spot instances: EventBridge tells of one, and two minutes later EC2 takes the instance, ready or not.

Source: EC2 user guide, "Spot Instance interruption notices" (the event and its detail; two minutes before).
Time here is an eighth of that. There is no clock: an instance is gone at the first look after its time.
"""

import json
import time
from typing import Any

from moto.events.models import events_backends

from rehearsal.cloud.account import ACCOUNT, ec2
from rehearsal.cloud.ec2.use import NOTICED, live_instances, tags_of_live

NOTICE_SECONDS = 120 / 8
_KIND = "EC2 Spot Instance Interruption Warning"
_DUE = "rehearsal_taken_at"


def give_notice(region: str, instance_id: str, order: dict[str, Any]) -> dict[str, Any]:
    """EC2 will take a spot instance, in ``{"seconds": number}``. Raises ValueError where none of that id
    runs.
    """
    backend = ec2(region)
    found = next((each for each in live_instances(backend) if each.id == instance_id), None)
    if found is None or found.lifecycle != "spot":
        raise ValueError(f"no spot instance {instance_id} runs in {region}")
    setattr(found, _DUE, time.monotonic() + float(order.get("seconds", NOTICE_SECONDS)))
    detail = json.dumps({"instance-id": instance_id, "instance-action": "terminate"})
    events_backends[ACCOUNT][region].put_events([{"Source": "aws.ec2", "DetailType": _KIND, "Detail": detail}])
    return {}


def seen(region: str) -> dict[str, dict[str, str]]:
    """Tags of the live instances by id; those that had a notice say so, and those whose time is over are taken."""
    backend, now = ec2(region), time.monotonic()
    noticed = {each.id: getattr(each, _DUE) for each in live_instances(backend) if hasattr(each, _DUE)}
    over = [each for each, due in noticed.items() if due <= now]
    if over:
        backend.terminate_instances(over)
    return {each: {**tags, NOTICED: "yes"} if each in noticed else tags for each, tags in tags_of_live(backend).items()}
