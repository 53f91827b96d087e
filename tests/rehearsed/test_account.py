"""What the account holds by a stack file: models and data at its addresses, the capacity blocks of its pools."""

from datetime import UTC, datetime

import pytest

from rehearsal.particulars import region
from rehearsed import account, hostnames

BOOKED = """
config:
  gpucluster:pools:
    - {name: system, role: system, instanceType: m7i.xlarge, count: 2}
    - {name: a, instanceType: p5.48xlarge, count: 3, reservation: &block
        {id: cr-0123456789abcdef0, zone: use2-az1, start: "2026-11-20", end: "2026-11-27"}}
    - {name: b, instanceType: p5.48xlarge, count: 1, reservation: *block}
    - {name: c, instanceType: p5.48xlarge, count: 1, reservation: {id: cr-1, zone: use2-az1, start: soon}}
"""


def test_addresses_hold_a_model_directory_or_the_file_they_name_and_comments_do_not_count() -> None:
    text = """
    # s3://commented/out
    a: s3://models/llama/8b/   # s3://also/out
    b: ["s3://models/llama/8b/", 's3://data']
    c: {d: s3://models/x.json, e: s3://data/corpus/tokens.bin}
    """
    found = [(each.bucket, each.key) for each in account.objects(text)]
    assert len(set(found)) == len(found)
    assert {bucket for bucket, _ in found} == {"models", "data"}
    assert ("models", "llama/8b/model-00001-of-00002.safetensors") in found
    assert ("data", "config.json") in found
    assert [key for bucket, key in found if key.startswith(("x.json", "corpus"))] == ["x.json", "corpus/tokens.bin"]


def test_weights_are_as_large_as_the_model_that_reads_them_wherever_they_lie() -> None:
    services = """
config:
  gpucluster:serving:
    services:
      - {name: chat, model: llama-3-8b, weights: "s3://models/a/v2"}
      - {name: llama-3-8b, model: nobodys, weights: "s3://models/b"}
"""
    sizes = {each.key: each.size for each in account.objects(services)}
    assert sizes["a/v2/model-00001-of-00002.safetensors"] == 16_060_522_496 // 2
    assert sizes["a/v2/config.json"] is None
    assert sizes["b/model-00001-of-00002.safetensors"] is None


def test_an_image_by_parameter_is_there_and_so_is_the_parameter() -> None:
    text = """
config:
  gpucluster:pools:
    - {name: a, instanceType: p5.4xlarge, count: 2, ami: "/images/node:3"}
    - {name: b, instanceType: m7i.xlarge, count: 2, ami: ami-0123456789abcdef0}
"""
    ((parameter, image),) = account.parameters(text).items()
    assert parameter == "/images/node:3"
    variants = {each: name.split("-")[4] for each, name in account.images(text).items()}
    assert variants == {image: "nvidia", "ami-0123456789abcdef0": "standard"}
    assert account.content(text).parameters == {parameter: image}
    assert account.parameters(BOOKED) == {}


def test_the_zone_or_the_certificate_of_the_gateways_issuer_is_there_before_the_stack() -> None:
    arn = "arn:aws:acm:us-east-2:471112934816:certificate/7f3c19ad-5b2e-4c86-9a41-d0e8f6b27c15"

    def serving(issuer: str) -> str:
        gateway = f"{{domain: llm.example.com, issuer: {issuer}}}"
        services = "[{name: a, hostname: chat.example.org}, {name: b}]"
        return f"config: {{'gpucluster:serving': {{gateway: {gateway}, services: {services}}}}}"

    asked, there = serving("{kind: acm, zone: Z0123}"), serving(f"{{kind: acm, certificate: '{arn}'}}")
    assert (hostnames.zones(asked), hostnames.certificates(asked)) == ({"Z0123": "llm.example.com"}, {})
    assert hostnames.zones(there) == {}
    assert hostnames.certificates(there) == {arn: ["*.llm.example.com", "chat.example.org"]}
    for other in (serving("{kind: private-ca}"), "config: {}", "config: {'gpucluster:serving': []}"):
        assert (hostnames.zones(other), hostnames.certificates(other)) == ({}, {})


def test_a_dataset_lies_there_in_enough_files_for_a_gang_of_64_to_share() -> None:
    text = """
config:
  gpucluster:training:
    datasets:
      - {name: web-text, gb: 2000, source: s3://acme-datasets/web-text/}
      - {name: index, gb: 1, source: s3://acme-datasets/index.json}
      - {name: brought-by-hand, gb: 1}
    starts: s3://acme-models/llama
"""
    found = [each.key for each in account.objects(text) if each.bucket == "acme-datasets"]
    assert sorted(found) == ["index.json", *(f"web-text/part-{number:04}.tar" for number in range(64))]
    assert {each.key for each in account.objects(text) if each.bucket == "acme-models"} > {"llama/config.json"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("platform:\n  region: us-west-2\n", "us-west-2"), ("region: 'ap-south-1'", "ap-south-1"), ("x: 1", "us-east-1")],
)
def test_the_region_of_the_stack_file(text: str, expected: str) -> None:
    assert region(text) == expected


def test_the_blocks_that_the_pools_are_in_are_in_the_account() -> None:
    """PF10: two pools may share one; a block without an end is the program's to refuse."""
    (block,) = account.blocks(BOOKED)
    assert (block.id, block.count) == ("cr-0123456789abcdef0", 4)
    order = block.order(datetime(2026, 11, 20, 9, tzinfo=UTC))
    assert (order["state"], order["end"]) == ("active", "2026-11-27T11:30:00+00:00")
    assert block.order(datetime(2026, 11, 19, 23, tzinfo=UTC))["state"] == "scheduled"
    (reserved,) = account.content(BOOKED).reservations
    assert reserved.words == "capacity block cr-0123456789abcdef0 of 4 p5.48xlarge"


@pytest.mark.parametrize("text", ["", "config:\n", "config: {a: [1, 2], b: text}\n", "[]"])
def test_a_file_without_pools_names_no_block(text: str) -> None:
    assert account.blocks(text) == []


def test_several_blocks_of_a_pool_are_in_the_account_each_with_its_own_nodes() -> None:
    """PF10: the pool's count is that of all of them."""
    several = """config:
  gpucluster:pools:
    - name: a
      instanceType: p5.48xlarge
      count: 72
      reservations:
        - {id: cr-0, zone: use2-az1, start: "2026-11-20", end: "2026-11-27", count: 64}
        - {id: cr-1, zone: use2-az1, start: "2026-11-20", end: "2026-11-27", count: 8}
        - {id: cr-2, zone: use2-az1, start: "2026-11-20", end: "2026-11-27"}
"""
    assert [(block.id, block.count) for block in account.blocks(several)] == [("cr-0", 64), ("cr-1", 8)]


def test_people_whom_the_stack_lets_in_are_there() -> None:
    """EKS refuses an access entry of a principal that does not exist."""
    text = """config:
  gpucluster:security: {adminArns: [arn:one]}
  gpucluster:teams:
    - {name: a, members: [{role: viewer, arn: arn:two}, {role: viewer, group: g}]}
    - {name: b, members: [{role: viewer, arn: arn:two}]}
"""
    assert account.people(text) == ("arn:one", "arn:two")
    assert account.people("config: {}") == ()


def test_the_account_has_quotas_for_pools_outside_of_blocks_lf07() -> None:
    """LF07: what a pool's nodes take, by how they are bought; blocks take from none."""
    text = """
    config:
      gpucluster:pools:
        - {name: a, instanceType: p5.4xlarge, count: 3}
        - {name: b, instanceType: p5.4xlarge, count: 2}
        - {name: c, instanceType: g6.xlarge, count: 4, capacity: spot}
        - {name: d, instanceType: p5.48xlarge, count: 8, capacity: capacity-block}
        - {name: e, server: Rack, count: 8}
    """
    assert account.content(text).instances == {"on-demand": {"p5.4xlarge": 5}, "spot": {"g6.xlarge": 4}}


@pytest.mark.parametrize(
    ("platform", "caller"),
    [
        ("{publicAccessCidrs: [198.51.100.0/24], access: {via: vpn, cidrs: [10.8.0.0/16]}}", "198.51.100.1"),
        ("{publicAccessCidrs: [], access: {via: vpn, cidrs: [10.8.0.0/16]}}", "10.8.0.1"),
        ("{vpcCidr: 10.1.0.0/20, access: {via: inside}}", "10.1.0.1"),
        ("{access: {via: inside}}", "10.64.0.1"),
        ("{publicAccessCidrs: [office]}", None),
        ("{access: vpn}", None),
        ("{kind: metal}", None),
    ],
)
def test_who_deploys_stands_in_the_first_network_that_the_file_lets_in_lf02(platform: str, caller: str | None) -> None:
    assert account.content(f"config: {{gpucluster:platform: {platform}}}").caller == caller


SOURCES = """
config:
  gpucluster:platform: {region: us-east-2}
  gpucluster:storage:
    sources:
      - {bucket: own}
      - {bucket: lent, owner: "210210210210", keyArn: "arn:aws:kms:us-east-2:210210210210:key/1-2"}
  gpucluster:training: {datasets: [{name: a, source: s3://own/a}, {name: b, source: s3://lent/b}]}
  gpucluster:serving: {services: [{weights: s3://named/llama}]}
"""


def test_only_what_the_stack_file_declares_is_the_accounts_own_lf03() -> None:
    """A bucket that is named and not declared is there, and a stranger's: nothing lies in it for this account."""
    held = {each.name: each for each in account.content(SOURCES).buckets}
    assert (held["own"].owner, held["own"].key_arn) == (None, None)
    assert (held["lent"].owner, held["lent"].shared) == ("210210210210", True)
    assert held["lent"].key_arn == "arn:aws:kms:us-east-2:210210210210:key/1-2"
    assert (held["named"].owner, held["named"].shared) == (account.STRANGER, False)
    assert {each.bucket for each in account.content(SOURCES).objects} == {"own", "lent"}


RACKED = """
config:
  gpucluster:platform: {kind: metal, site: hall-1}
  gpucluster:pools: [{name: system, role: system, server: Lab box, count: 1}]
  gpucluster:inventory:
    objectStore: {endpoint: "https://s3.hall.net/", bucket: saves, cidrs: [198.18.7.0/28]}
    hosts:
      - {pool: system, name: a, address: 10.0.0.9, bmc: 10.0.1.9, hostKeys: [ssh-ed25519 AAAA], serials: [SN1]}
  gpucluster:serving: {services: [{weights: s3://models/llama, model: llama-3.2-1b}]}
"""


def test_at_a_site_what_is_read_lies_in_the_sites_store_with_the_stacks_own_bucket() -> None:
    """AWS has nothing of it, and the store lets in the key that the stack is told."""
    found = account.content(RACKED)
    assert (list(found.buckets), list(found.objects)) == ([], [])
    own, models = found.files["s3:https://s3.hall.net/saves"], found.files["s3:https://s3.hall.net/models"]
    assert (own, models["llama/config.json"]) == ({}, len(account.FILES["config.json"]))
    assert sum(models[f"llama/{name}"] for name in account.WEIGHTS) == account.BYTES["llama-3.2-1b"]
    assert found.store_key == ("gpucluster:objectStoreKeyId", "gpucluster:objectStoreKey")
    assert account.content(SOURCES).store_key == ()
