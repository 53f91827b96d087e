"""curl in a pod: what it is told, what it tries again, and how it ends."""

import pytest

from rehearsal.images.curl import Answered, Asked, again, ended, parse

KEYED = ["--variable", "%API_KEY", "--expand-header", "Authorization: Bearer {{API_KEY}}"]


def test_a_request_with_a_key_from_the_environment_and_a_body() -> None:
    words = ["curl", "-sS", "--fail-with-body", "--retry", "5", "--retry-delay", "2", "--retry-connrefused", *KEYED]
    asked = parse([*words, "--json", '{"a": 1}', "http://chat.n.svc:8000/v1/x"], {"API_KEY": "k"})
    assert asked == Asked(
        url="http://chat.n.svc:8000/v1/x",
        method="POST",
        headers={
            "Authorization": "Bearer k",
            "Content-Type": "application/json",
            "Accept": "application/json",
        },
        body='{"a": 1}',
        fails=True,
        retries=5,
        delay=2.0,
        retries_refused=True,
    )


def test_a_key_that_is_not_in_the_environment_is_none() -> None:
    asked = parse(["curl", *KEYED, "http://x/"], {})
    assert asked is not None
    assert asked.headers == {"Authorization": "Bearer"}


def test_another_program_is_none_of_ours() -> None:
    assert parse(["sh", "-c", "curl http://x/"], {}) is None
    assert parse(["curl"], {}) is None


@pytest.mark.parametrize(
    ("fails", "answered", "said", "code"),
    [
        (True, Answered(200, "fine"), "fine", 0),
        (True, Answered(401, "no"), "no\ncurl: (22) The requested URL returned error: 401", 22),
        (False, Answered(401, "no"), "no", 0),
        (False, Answered(0, "lookup x: no such host\n"), "curl: (7) Failed to connect: lookup x: no such host", 7),
    ],
)
def test_it_ends_as_it_was_told(fails: bool, answered: Answered, said: str, code: int) -> None:
    assert ended(Asked("http://x/", fails=fails), answered) == (said, code)


def test_what_may_pass_is_tried_again() -> None:
    asked = Asked("http://x/", retries_refused=True)
    assert again(asked, Answered(503, ""))
    assert again(asked, Answered(0, "refused"))
    assert not again(Asked("http://x/"), Answered(0, "refused"))
    assert not again(asked, Answered(401, ""))
