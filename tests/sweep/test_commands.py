"""What the commands say to whoever types them, word for word, and what they ask boto3 for."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, NoCredentialsError

from sweep import extend, vacate
from sweep.__main__ import main as sweep
from sweep.__main__ import print_looks
from sweep.account import AwsAccount
from sweep.regions import Seen
from sweep.things import Found, Owner, owner_of, pairs
from tests.sweep.inventory import Inventory

COMMANDS: Mapping[str, tuple[Callable[..., int], Sequence[str]]] = {
    "sweep.__main__": (sweep, []),
    "sweep.extend": (extend.main, ["--stack", "lab", "--hours", "2"]),
}
LOGGED_OUT = "Unable to locate credentials"


class Session:
    """boto3's session, as far as an account needs it; notes with what it was made, and with what each client."""

    made: list[Mapping[str, Any]]
    clients: list[tuple[str, Config]]

    def __init__(self, **how: Any) -> None:
        self.region_name = how["region_name"]
        Session.made.append(how)

    def client(self, service: str, *, config: Config) -> Any:
        Session.clients.append((service, config))
        return Client()


class Client:
    """One that can be asked for anything."""

    def get_paginator(self, operation: str) -> Any:
        return type("Pages", (), {"paginate": lambda _, **request: iter([{operation: request}, {"last": True}])})()

    def describe_volumes(self, **request: Any) -> Any:
        return {"asked": request}


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> type[Session]:
    Session.made, Session.clients = [], []
    monkeypatch.setattr(boto3.session, "Session", Session)
    return Session


def test_an_account_is_asked_patiently_and_by_one_client_for_each_service(session: type[Session]) -> None:
    account = AwsAccount("us-east-2", "ml")
    assert session.made == [{"region_name": "us-east-2", "profile_name": "ml"}]
    assert account.region == "us-east-2"
    assert account.call("ec2", "describe_volumes", VolumeIds=["v"]) == {"asked": {"VolumeIds": ["v"]}}
    assert list(account.pages("ec2", "describe_instances", a=1)) == [{"describe_instances": {"a": 1}}, {"last": True}]
    ((service, config),) = session.clients
    told: Any = config
    assert (service, told.connect_timeout, told.read_timeout) == ("ec2", 5, 60)
    assert told.retries == {"total_max_attempts": 8, "mode": "standard"}
    AwsAccount("r", attempts=1).call("ec2", "describe_volumes")
    assert (session.made[-1]["profile_name"], session.clients[-1][1].retries["total_max_attempts"]) == (None, 1)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_without_a_region_the_command_says_what_to_type(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    class Nowhere:
        region = None

        def __init__(self, *where: str | None) -> None:
            asked.append(where)

    monkeypatch.setattr(f"{command}.AwsAccount", Nowhere)
    main, words = COMMANDS[command]
    assert main([*words, "--profile", "ml"]) == 2
    assert asked == [(None, "ml")]
    assert capsys.readouterr() == (
        "",
        {
            "sweep.__main__": "no region: type make sweep REGION=us-east-2, or all, or set one in the profile\n",
            "sweep.extend": "no region: type make extend STACK=lab HOURS=2 REGION=us-east-2\n",
        }[command],
    )


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_an_account_that_does_not_answer_is_told_with_what_it_said(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class LoggedOut:
        region = "r"

        def __init__(self, *_: str | None) -> None:
            pass

        def pages(self, *_: Any, **__: Any) -> Any:
            raise NoCredentialsError

        call = pages

    monkeypatch.setattr(f"{command}.AwsAccount", LoggedOut)
    main, words = COMMANDS[command]
    assert main([*words]) == 2
    assert capsys.readouterr() == (
        "",
        {
            "sweep.__main__": f"the account does not answer: {LOGGED_OUT}; log in, or name a profile: PROFILE=ml\n",
            "sweep.extend": f"lab has no keeper in r, or you lack the permission to see it: {LOGGED_OUT}\n",
        }[command],
    )


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (sweep, ["--remov", "lab"]),
        (sweep, ["--confir", "lab"]),
        (sweep, ["--regio", "r"]),
        (sweep, ["--profil", "p"]),
        (extend.main, ["--stack", "lab", "--hour", "2"]),
        (vacate.main, ["--stac", "lab"]),
        (vacate.main, ["--stack", "lab", "--confir", "lab"]),
        (vacate.main, ["--stack", "lab", "--contex", "x"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value.__module__,
)
def test_what_deletes_or_costs_is_asked_for_by_whole_words(
    main: Callable[[list[str]], int], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """argparse would take the beginning of an option for it."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"python -m sweep{'' if main is sweep else '.' + main.__module__.partition('.')[2]}: error: " in (
        capsys.readouterr().err
    )


def test_hours_that_are_none_are_told_as_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert extend.main(["--stack", "lab", "--hours", "two"]) == 2
    assert capsys.readouterr() == ("", "'two' is not a number of hours up to 744: type HOURS=2\n")
    assert extend.main(["--stack", "lab", "--hours", "744.1"]) == 2


def test_an_extension_asks_for_the_keeper_of_its_project(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one there is nobody who would end it."""
    asked: list[Any] = []

    class Nobody:
        region = "r"

        def __init__(self, *_: str | None) -> None:
            pass

        def call(self, service: str, operation: str, **request: Any) -> Any:
            asked.append((service, operation, request))
            error = {"Error": {"Code": "ResourceNotFoundException", "Message": "no function"}}
            raise ClientError(error, "GetFunctionConfiguration")

    monkeypatch.setattr("sweep.extend.AwsAccount", Nobody)
    assert extend.main(["--stack", "lab", "--hours", "2"], now=datetime(2026, 11, 23, tzinfo=UTC)) == 2
    assert extend.main(["--project", "mine", "--stack", "lab", "--hours", "744"]) == 2
    names = [{"FunctionName": f"{each}-lab-keeper"} for each in ("gpucluster", "mine")]
    assert asked == [("lambda", "get_function_configuration", each) for each in names]
    assert "no function" in capsys.readouterr().err


def test_what_is_left_is_listed_by_stack_region_kind_and_name(capsys: pytest.CaptureFixture[str]) -> None:
    """In whatever order AWS answered: the list of today is compared with that of yesterday."""
    rows = [
        [stack, region, kind, name]
        for stack in ("course", "lab")
        for region in ("eu-north-1", "us-east-2")
        for kind in ("address", "volume")
        for name in ("x-1", "x-2")
    ]

    def found(stack: str, kind: str, name: str) -> Found:
        owner = Owner(project="gpucluster", stack=stack, expiry=date(2026, 11, 1), protected=False)
        return Found(kind=kind, id=name, owner=owner, state="there", stays="it may hold data")

    looks = [
        Seen(place, Inventory(), tuple(found(stack, *what) for stack, region, *what in rows[::-1] if region == place))
        for place in ("us-east-2", "eu-north-1")
    ]
    print_looks(looks)
    cells = [line.split("│")[1:6] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [[stack.strip(), *(each.strip() for each in rest)] for stack, _, *rest in cells] == rows


@pytest.mark.parametrize(
    ("tags", "known"),
    [
        ({"gpucluster:project": "p", "gpucluster:stack": "s", "gpucluster:protect": "true"}, True),
        ({"gpucluster:project": "p", "gpucluster:stack": "s", "gpucluster:protect": "false"}, False),
        ({"gpucluster:project": "", "gpucluster:stack": "s"}, None),
        ({"gpucluster:project": "p", "gpucluster:stack": ""}, None),
    ],
)
def test_a_tag_protects_by_one_word_alone(tags: dict[str, str], *, known: bool | None) -> None:
    owner = owner_of(pairs({"Key": key, "Value": value} for key, value in tags.items()))
    assert (owner.protected if owner else None) is known
    assert owner is None or (owner.project, owner.stack, owner.expiry) == ("p", "s", None)
