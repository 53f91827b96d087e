"""Where a stranger may send whoever reads from it."""

import pytest

from catalogue.fetching import kin, refused


@pytest.mark.parametrize(
    ("url", "origin", "read"),
    [
        ("https://registry.example.com/v2/", None, True),
        ("http://127.0.0.1:5000/v2/", None, True),
        ("http://localhost:5000/v2/", None, True),
        ("http://registry.example.com/v2/", None, False),
        ("file:///etc/passwd", None, False),
        ("ftp://example.com/x", None, False),
        ("https:///x", None, False),
        ("https://169.254.169.254/latest", "https://registry.example.com/v2/", False),
        ("http://127.0.0.1:4566/", "https://registry.example.com/v2/", False),
        ("https://10.0.0.1/", "https://registry.example.com/v2/", False),
        ("https://[::1]/", "https://registry.example.com/v2/", False),
        ("https://intranet/", "https://registry.example.com/v2/", False),
        ("https://other.example.org/", "https://registry.example.com/v2/", True),
        ("http://127.0.0.1:5001/token", "http://127.0.0.1:5000/v2/", True),
    ],
)
def test_what_is_read(url: str, origin: str | None, read: bool) -> None:
    assert (refused(url, origin) == "") is read


@pytest.mark.parametrize(
    ("host", "other", "same"),
    [
        ("auth.docker.io", "registry-1.docker.io", True),
        ("ghcr.io", "ghcr.io", True),
        ("auth.example.com", "example.com", True),
        ("example.com", "evil.com", False),
        ("ghcr.io", "quay.io", False),
        ("auth.example.com", "auth.example.org", False),
    ],
)
def test_hosts_of_one_owner(host: str, other: str, same: bool) -> None:
    assert kin(host, other) is kin(other, host) is same
