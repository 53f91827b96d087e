"""Schedules. Source: terraform-provider-aws internal/service/scheduler/schedule.go."""

from rehearsal.plugins.aws.row import Autoname, Row, words

ALL = words(
    "groupName scheduleExpression scheduleExpressionTimezone flexibleTimeWindow target state description startDate "
    "endDate kmsKeyArn actionAfterCompletion"
)
"""An update says all of it: what it leaves out is as if it had never been said (UpdateSchedule)."""

ROWS: dict[str, Row] = {
    "aws:scheduler/schedule:Schedule": Row(
        create="create_schedule",
        read="get_schedule",
        key={"GroupName": "{groupName}", "Name": "{name}"},
        id="{groupName}/{name}",
        autoname=Autoname(limit=64),
        defaults={
            "groupName": "default",
            "state": "ENABLED",
            "scheduleExpressionTimezone": "UTC",
        },
        force_new=words("name namePrefix groupName"),
        computed=words("name groupName actionAfterCompletion"),
        updates=(("update_schedule", ALL),),
        unready=("ValidationException.*role",),
    ),
}
