"""Secrets of a rehearsal that cannot be just anything."""

from pathlib import Path

from rehearsal import keys
from rehearsal.engine.workspace import given
from rehearsal.particulars import Content
from rehearsal.places import SiteDirectory


def test_a_stack_is_told_the_key_that_the_sites_store_takes_and_the_login_of_its_hosts(tmp_path: Path) -> None:
    site = SiteDirectory(tmp_path)
    key_id, secret = keys.make(site.keys).store
    told = given(site, Content("us-east-1", login="p:ssh", store_key=("p:id", "p:key")))
    assert (told["p:id"], told["p:key"]) == (key_id, secret)
    assert "PRIVATE KEY" in told["p:ssh"]
    assert given(site, Content("us-east-1")) == {}
