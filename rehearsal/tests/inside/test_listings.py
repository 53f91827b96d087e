"""`aws s3 ls` in a container's command line: what is looked for, and what the script says if it is not there."""

import pytest

from rehearsal.images.s3sync import Listing, downloads, listings

SCRIPT = "aws s3 ls 's3://b/p/' > /dev/null || { echo 'nothing lies there' >&2; exit 1; }"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["aws", "s3", "ls", "s3://b/p/"], ""),
        (["aws", "--region", "us-east-2", "s3", "ls", "s3://b/p/"], ""),
        (["sh", "-c", SCRIPT], "nothing lies there"),
        (["sh", "-c", "aws s3 ls s3://b/p/ && echo good"], ""),
    ],
)
def test_listings_are_found_in_arguments_and_scripts(argv: list[str], said: str) -> None:
    assert listings(argv) == [Listing("b", "p/", said)]
    assert downloads(argv) == []


def test_a_copy_is_no_listing() -> None:
    assert listings(["s3", "sync", "s3://b/p", "/models"]) == []
