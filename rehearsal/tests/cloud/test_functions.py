"""Lambda: what a function is told to log comes back, and what an account has is counted."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud
from rehearsal.tests.cloud.world import make_role

NAME = {"FunctionName": "told"}


@pytest.fixture
def functions(cloud: Cloud) -> Iterator[Any]:
    """Lambda of the test region; the function is gone after the test, if the test has not removed it."""
    make_role(cloud, "function", "lambda.amazonaws.com")
    client = cloud.client("lambda")
    yield client
    if client.list_functions()["Functions"]:
        client.delete_function(**NAME)
    cloud.client("iam").delete_role(RoleName="function")


def make(functions: Any, **more: Any) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("handler.py", "def handle(event, context): ...")
    functions.create_function(
        **NAME,
        Role="arn:aws:iam::123456789012:role/function",
        Runtime="python3.13",
        Handler="handler.handle",
        Code={"ZipFile": packed.getvalue()},
        **more,
    )


def logging(functions: Any) -> Any:
    """As both reads tell it."""
    told = functions.get_function_configuration(**NAME)["LoggingConfig"]
    assert functions.get_function(**NAME)["Configuration"]["LoggingConfig"] == told
    return told


def test_a_function_tells_again_where_it_logs(functions: Any) -> None:
    """A refresh or an import would see a difference where there is none."""
    own = {"LogFormat": "Text", "LogGroup": "/aws/eks/lab/keeper"}
    make(functions, LoggingConfig=own)
    assert logging(functions) == own
    functions.update_function_configuration(**NAME, Timeout=30)
    assert logging(functions) == own
    functions.update_function_configuration(**NAME, LoggingConfig={"LogFormat": "JSON"})
    levels = {"ApplicationLogLevel": "INFO", "SystemLogLevel": "INFO"}
    assert logging(functions) == {**own, "LogFormat": "JSON", **levels}


def test_one_that_is_told_nothing_logs_text_to_a_group_of_its_name(functions: Any) -> None:
    make(functions)
    assert logging(functions) == {"LogFormat": "Text", "LogGroup": "/aws/lambda/told"}


def test_functions_their_schedules_and_parameters_are_counted(cloud: Cloud, functions: Any) -> None:
    """So that the end of a rehearsal proves that they are gone; the account's own group of schedules always stays."""
    kinds = ("lambda:function", "scheduler:schedule", "scheduler:group", "ssm:parameter")
    scheduler, parameters = cloud.client("scheduler"), cloud.client("ssm")
    before = {kind: cloud.inventory().get(kind, []) for kind in kinds}
    make(functions)
    arn = functions.get_function_configuration(**NAME)["FunctionArn"]
    target = {"Arn": arn, "RoleArn": "arn:aws:iam::123456789012:role/function"}
    often = {"ScheduleExpression": "rate(1 hour)", "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target}
    scheduler.create_schedule(Name="often", **often)
    scheduler.create_schedule_group(Name="own")
    scheduler.create_schedule(Name="often", GroupName="own", **often)
    parameters.put_parameter(Name="/gpucluster/told/ends", Value="never", Type="String")
    now = cloud.inventory()
    assert {kind: sorted(set(now[kind]) - set(before[kind])) for kind in kinds} == {
        "lambda:function": ["told"],
        "scheduler:schedule": ["default/often", "own/often"],
        "scheduler:group": ["own"],
        "ssm:parameter": ["/gpucluster/told/ends"],
    }
    functions.delete_function(**NAME)
    scheduler.delete_schedule(Name="often")
    scheduler.delete_schedule_group(Name="own")
    parameters.delete_parameter(Name="/gpucluster/told/ends")
    assert {kind: cloud.inventory().get(kind, []) for kind in kinds} == before
