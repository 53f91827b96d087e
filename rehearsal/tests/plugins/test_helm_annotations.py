"""What a hook's annotations say."""

from typing import Any

from rehearsal.plugins.kubernetes.helm_hooks import events, policies, weight


def test_annotations_are_read_as_helm_reads_them() -> None:
    def hook(**annotations: str) -> dict[str, Any]:
        named = {f"helm.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
        return {"metadata": {"name": "n", "annotations": named}}

    assert events(hook(hook="pre-install, post-install")) == ["pre-install", "post-install"]
    assert events({"metadata": {"name": "n"}}) == []
    assert [weight(hook(hook_weight=text)) for text in ("-3", "x", "")] == [-3, 0, 0]
    assert policies(hook(hook="pre-install")) == ["before-hook-creation"]
    assert policies(hook(hook_delete_policy="hook-succeeded,hook-failed")) == ["hook-succeeded", "hook-failed"]
