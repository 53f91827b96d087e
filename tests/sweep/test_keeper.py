"""Labs that end by themselves: the real function, called by the schedule of its account under a clock of the test's.

What is left is counted through AWS' own APIs.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from decide import Record

from rehearsal.cloud.schedules import Schedules, period
from rehearsal.plugins.aws.types.lambda_ import archive
from rehearsal.tests.cloud.conftest import REGION, Cloud
from rehearsal.tests.cloud.world import Network, make_role
from rehearsed.inbox import Inbox
from stacks.aws_keeper import code
from sweep.account import AwsAccount
from sweep.extend import main as longer
from sweep.found import look
from tests.sweep.conftest import Lab, tags

END = datetime(2026, 11, 23, 18, tzinfo=UTC)
CODE = archive({"assets": {name: {"text": text} for name, text in code().items()}})


class Kept:
    """A lab with its keeper, made by the calls that an `up` makes."""

    def __init__(
        self,
        cloud: Cloud,
        network: Network,
        stack: str,
        rate: str = "rate(10 minutes)",
        *,
        expires: bool = False,
        **task: Any,
    ) -> None:
        """It ends at END, or, if it `expires` by a clock that begins now, in a year that is far away."""
        self.cloud, self.stack = cloud, stack
        self.lab = Lab(cloud, network, stack, tags(stack, "2026-11-23"))
        self.ends, self.record = f"/gpucluster/{stack}/keeper/ends", f"/gpucluster/{stack}/keeper/record"
        self.clock = Schedules(cloud.account, REGION, END - timedelta(minutes=80))
        ssm, sns = cloud.client("ssm"), cloud.client("sns")
        self.extend(datetime(2099, 1, 1, tzinfo=UTC) if expires else END)
        ssm.put_parameter(Name=self.record, Value="{}", Type="String")
        told, self.stop = (sns.create_topic(Name=f"{stack}-{name}")["TopicArn"] for name in ("told", "stop"))
        given = {"project": "gpucluster", "stack": stack, "cluster": f"gpucluster-{stack}", "topic": told}
        given |= {"ends_parameter": self.ends, "record_parameter": self.record, "warn_hours": 1, "hourly_usd": 4}
        self._task, self.topic = given | task, told
        function = cloud.client("lambda").create_function(
            FunctionName=f"gpucluster-{stack}-keeper",
            Role=f"arn:aws:iam::123456789012:role/keeper-{stack}",
            Runtime="python3.13",
            Handler="handler.handle",
            Code={"ZipFile": CODE},
            Timeout=300,
            Environment=self._environment(),
        )["FunctionArn"]
        sns.subscribe(TopicArn=self.stop, Protocol="lambda", Endpoint=function)
        target = {"Arn": function, "RoleArn": f"arn:aws:iam::123456789012:role/keeper-{stack}"}
        cloud.client("scheduler").create_schedule(
            Name=f"gpucluster-{stack}-keeper",
            ScheduleExpression=rate,
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={
                **target,
                "Input": json.dumps({"now": "<aws.scheduler.scheduled-time>"}),
                "RetryPolicy": {"MaximumEventAgeInSeconds": 600, "MaximumRetryAttempts": 3},
            },
        )

    def _environment(self) -> dict[str, Any]:
        return {"Variables": {"KEEPER": json.dumps(self._task)}}

    def change(self, **task: Any) -> None:
        """What an `up` after another stack file tells the function."""
        self._task |= task
        name = f"gpucluster-{self.stack}-keeper"
        self.cloud.client("lambda").update_function_configuration(FunctionName=name, Environment=self._environment())

    def extend(self, until: datetime) -> None:
        value = f"{until:%Y-%m-%dT%H:%M:%SZ}"
        self.cloud.client("ssm").put_parameter(Name=self.ends, Value=value, Type="String", Overwrite=True)

    def mail(self, address: str) -> None:
        """One more who is told by mail."""
        self.cloud.client("sns").subscribe(TopicArn=self.topic, Protocol="email", Endpoint=address)

    def told(self) -> Record:
        return Record.parse(self.cloud.client("ssm").get_parameter(Name=self.record)["Parameter"]["Value"])

    def until(self, hours: float, between: Callable[[], object] = lambda: time.sleep(0.2)) -> list[str]:
        """Let the clock run until so many hours after the end; the phases of the calls, an empty one for a failure."""
        calls = self.clock.run(END + timedelta(hours=hours), between)
        return [str(each.answer["phase"]) if each.answer else "" for each in calls]

    def left(self) -> dict[str, int]:
        return dict(Counter(each.kind for each in look(AwsAccount()) if each.owner.stack == self.stack))


@pytest.fixture
def make(cloud: Cloud, network: Network) -> Any:
    """Makes kept labs; their schedules end with the test."""

    def made(stack: str, **task: Any) -> Kept:
        make_role(cloud, f"keeper-{stack}", "lambda.amazonaws.com")
        labs.append(Kept(cloud, network, stack, **task))
        return labs[-1]

    labs: list[Kept] = []
    yield made
    for each in labs:
        each.clock.close()
    scheduler = cloud.client("scheduler")
    for each in scheduler.list_schedules()["Schedules"]:
        scheduler.delete_schedule(Name=each["Name"])


def test_a_lab_ends_at_its_time_and_nothing_of_it_costs(make: Any, cloud: Cloud, network: Network) -> None:
    """Z15: warned once before, whole until then, gone after; a protected stack beside it stays."""
    kept: Kept = make("ends")
    inbox = Inbox(cloud.account, REGION, kept.topic)
    kept.lab.everything()
    Lab(cloud, network, "kept", tags("kept", **{"gpucluster:protect": "true"})).volume()
    whole = kept.left()
    assert kept.until(-1 / 6) == ["runs", "warns"] + ["runs"] * 5
    assert kept.told().warned_of == "2026-11-23T18:00:00Z"
    assert kept.left() == whole
    assert inbox.subjects == ["ends ends soon"]
    assert set(kept.until(2)) == {"ends"}
    assert kept.left() == {}
    assert kept.told().emptied
    assert inbox.subjects == ["ends ends soon", "ends has ended"]
    assert [each.owner.stack for each in look(AwsAccount()) if each.owner.stack == "kept"] == ["kept"]


def test_people_are_told_though_something_free_of_charge_cannot_go_yet(make: Any, cloud: Cloud) -> None:
    """A group that a rule still names: nothing costs any more, and it is tried again at each look."""
    kept: Kept = make("held")
    kept.lab.classic_load_balancer()
    refused = {"action": "DeleteSecurityGroup", "code": "DependencyViolation", "status": 400, "times": 1000}
    cloud.call("POST", "faults", refused)
    named = [{"Name": "group-name", "Values": ["k8s-elb-a-held"]}]
    kept.until(1)
    assert len(cloud.client("ec2").describe_security_groups(Filters=named)["SecurityGroups"]) == 1
    assert kept.told().emptied
    cloud.call("DELETE", "faults")
    kept.until(1.4)
    assert cloud.client("ec2").describe_security_groups(Filters=named)["SecurityGroups"] == []


def test_expiry_while_up_runs_and_half_is_there(make: Any) -> None:
    """What an `up` makes after the end goes with the next look, though all was gone before."""
    kept: Kept = make("halfway")
    kept.lab.nat_gateway()
    late = [kept.lab.volume, lambda: None, kept.lab.volume]

    def up_goes_on() -> None:
        time.sleep(0.2)
        if kept.clock.now > END and late:
            late.pop()()

    assert kept.until(2, up_goes_on)[-1] == "ends"
    assert not late
    assert kept.left() == {}


def test_calls_that_are_throttled_fail_or_die_are_made_good(make: Any, cloud: Cloud) -> None:
    kept: Kept = make("trouble")
    kept.lab.cluster()
    kept.lab.nat_gateway()
    kept.lab.volume()
    kept.until(-1 / 6)
    kept.clock.throttle = 2
    cloud.call("POST", "faults", {"action": "DescribeVolumes", "code": "InternalError", "status": 400, "times": 2})
    assert kept.until(1 / 6) == ["", "", "ends"], "of the first four attempts two were throttled and two failed"
    kept.clock.die_after = 9
    assert set(kept.until(1 / 3)) == {""}
    kept.clock.die_after = 0
    kept.until(2)
    assert kept.left() == {}


def extend(stack: str, hours: str) -> int:
    """`make extend`, a minute before the end."""
    words = ["--stack", stack, "--hours", hours, "--region", REGION]
    return longer(words, now=END - timedelta(minutes=1))


def test_an_extension_a_minute_before_keeps_the_lab(
    make: Any, cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, whose word the keeper goes by at its next look."""
    kept: Kept = make("longer", max_usd=20)
    inbox = Inbox(cloud.account, REGION, kept.topic)
    kept.lab.volume()
    kept.until(-1 / 6)
    assert extend("longer", "5") == 1, "20 USD at 4 USD an hour last until 21:50"
    assert "take HOURS=3.8 at most" in capsys.readouterr().out
    assert extend("longer", "2") == 0
    assert "longer ends at 2026-11-23T20:00:00Z; 2 hours more cost 8.00 USD" in capsys.readouterr().out
    assert "ends" not in kept.until(1.9, lambda: None)
    assert inbox.subjects == ["longer ends soon"] * 2, "of the new end, too"
    assert kept.told().warned_of == "2026-11-23T20:00:00Z"
    assert kept.left() == {"volume": 1}
    kept.until(2.5)
    assert kept.left() == {}
    assert longer(["--stack", "longer", "--hours", "1", "--region", REGION], now=END + timedelta(hours=3)) == 1


def test_the_budgets_notice_ends_it_for_good(make: Any) -> None:
    kept: Kept = make("spent")
    kept.lab.volume()
    kept.clock.notice(kept.stop, "AWS Budgets: spent has exceeded your alert threshold")
    kept.extend(END + timedelta(days=9))
    assert set(kept.until(-1)) == {"ends"}
    assert kept.told().stopped == "AWS Budgets: spent has exceeded your alert threshold"
    assert kept.left() == {}


def test_money_ends_it_before_its_time(make: Any) -> None:
    """4 USD at 4 USD an hour last an hour from the first look, at 16:50."""
    kept: Kept = make("dear", max_usd=4)
    kept.lab.volume()
    phases = kept.until(-1 / 6)
    assert phases.index("ends") == 6
    assert kept.left() == {}


def test_pools_sleep_at_night_and_wake_by_day(make: Any, cloud: Cloud) -> None:
    hours = {"time_zone": "UTC", "days": ["mon", "tue"], "start": "08:00", "end": "17:00"}
    kept: Kept = make("sleeps", gpu_pools={"training": 1}, off_hours=hours)
    kept.lab.cluster()
    kept.extend(END + timedelta(days=2))
    eks = cloud.client("eks")

    def wanted() -> int:
        group = eks.describe_nodegroup(clusterName="gpucluster-sleeps", nodegroupName="training")["nodegroup"]
        size: int = group["scalingConfig"]["desiredSize"]
        return size

    kept.until(-1.1)
    assert wanted() == 1
    kept.until(-0.9)
    assert (wanted(), kept.told().asleep) == (0, ("training",))
    kept.clock.now = END + timedelta(hours=13, minutes=55)
    kept.until(14.5)
    assert (wanted(), kept.told().asleep) == (1, ())


def test_the_functions_archive_is_small_and_whole() -> None:
    """Its cold start loads less than 1 MB, and nothing of the program beside it."""
    assert len(CODE) < 1_000_000
    assert {"handler.py", "decide.py", "sweep/found.py", "sweep/remove.py"} <= code().keys()


def test_only_rates_are_played() -> None:
    assert period("rate(1 hour)") == timedelta(hours=1)
    with pytest.raises(ValueError, match="schedules of a rate"):
        period("cron(0 8 * * ? *)")
