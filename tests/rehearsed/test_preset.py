"""A stack file that builds on a preset is rehearsed with all that the preset says."""

import pytest
import yaml

from rehearsal.particulars import region
from rehearsed import account, preset, secrets
from settings.load import on_its_preset
from settings.presets import preset_names
from tests.graph.stackfiles import ROOT


def built_on(name: str, **own: object) -> str:
    return yaml.safe_dump({"config": {"gpucluster:preset": name, **{f"gpucluster:{key}": own[key] for key in own}}})


@pytest.mark.parametrize("name", preset_names())
def test_it_is_laid_over_the_preset_as_the_program_does_it(name: str) -> None:
    own = {"platform": {"vpcCidr": "10.9.0.0/16"}, "budget": None, "scheduling": {"queues": [{"name": "a"}]}}
    found = yaml.safe_load(preset.whole(built_on(name, **own)))["config"]
    expected = on_its_preset({"preset": name, **own})
    assert found == {f"gpucluster:{key}": value for key, value in expected.items()}


def test_the_account_has_the_buckets_quotas_region_and_secrets_of_the_preset() -> None:
    found = account.content(built_on("h200-32n-cloud"))
    assert found.region == "us-east-2"
    assert [each.name for each in found.buckets] == ["acme-datasets"]
    assert {each.key.partition("/")[0] for each in found.objects} == {"web-text"}
    assert found.instances["on-demand"]["p5en.48xlarge"] == 32
    named = {f"gpucluster:{each}" for each in ("trialDatabase", "trackingDatabase", "pipelinesDatabase")}
    assert set(secrets.secrets(built_on("h200-32n-cloud"))) == named


@pytest.mark.parametrize("text", ["", "config: {}", "a: [", "config:\n  gpucluster:preset: nobodys\n", "config: 3"])
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert preset.whole(text) == text


def test_the_shipped_lab_is_where_its_preset_is() -> None:
    text = (ROOT / "Pulumi.lab.yaml").read_text()
    assert account.content(text).region == region(preset.whole(text)) == "us-east-2"
