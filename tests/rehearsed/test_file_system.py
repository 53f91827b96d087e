"""The real script that reads FSx' rates, against the account's stand-in: signed, answered, shown (X05)."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rates import Watch

from components.aws.file_system_rates import PORT, READS, SCRIPTS
from components.aws.pod_identity import statement_document
from rehearsal.cloud.metrics import FREE_PART, PER_MINUTE
from rehearsal.cloud.seen import iam
from rehearsal.images import identity
from rehearsal.kubelet.program import Ends
from rehearsal.tests.cloud.conftest import REGION, Cloud, until
from rehearsal.tests.cloud.test_fsx import SCRATCH, lifecycle, request
from rehearsal.tests.cloud.world import make_network, remove_network
from rehearsal.tests.inside.simulated import Node
from rehearsed import file_system

GIB = 1200


def test_the_stand_in_tells_it_what_fsx_would(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its signature is looked at as AWS looks at it."""
    network, fsx = make_network(cloud), cloud.client("fsx")
    system = fsx.create_file_system(**request(network, GIB, SCRATCH))["FileSystem"]["FileSystemId"]
    until(lambda: lifecycle(fsx, system) == "AVAILABLE")
    variables = cloud.account.variables
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, variables[name])
    watch = Watch(system, REGION, cloud.url, GIB * 2**30, 1e9)
    watch.look()
    of = f'{{file_system="{system}"'
    assert f"shared_files_up{of}}} 1" in watch.text
    assert f'shared_files_bytes_per_second{of},operation="read"}} {PER_MINUTE["DataReadBytes"] / 60:g}' in watch.text
    assert f'operations_per_second{of},operation="metadata"}} {PER_MINUTE["MetadataOperations"] / 60:g}' in watch.text
    assert f"shared_files_used_ratio{of}}} {1 - FREE_PART:g}" in watch.text
    assert f"shared_files_fullest_target_ratio{of}}} {1 - FREE_PART:g}" in watch.text
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-somebody-else")
    stranger = Watch(system, REGION, cloud.url, GIB * 2**30, 1e9)
    stranger.look()
    assert f"shared_files_up{of}}} 0" in stranger.text
    fsx.delete_file_system(FileSystemId=system)
    until(lambda: lifecycle(fsx, system) == "")
    remove_network(cloud, network)


def pod(directory: Path, rights: list[dict[str, Any]] | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The container of a pod whose role has these rights; None where it has no role."""
    node = Node(directory)
    if rights is None:
        monkeypatch.setattr(identity, "of", _nobody)
    else:
        monkeypatch.setattr(identity, "of", lambda _: identity.Identity("arn:aws:iam::123456789012:role/rates"))
    document = iam.document(statement_document(rights or []))
    node.world.aws = SimpleNamespace(role_policies=lambda _: [document], url="http://127.0.0.1:9", variables={})
    argv = ("python3", f"{SCRIPTS}/rates.py", f"--listen={PORT}")
    return file_system.run(node.launch(command=argv))


def _nobody(_: Any) -> identity.Identity:
    raise identity.CredentialsError("Unable to locate credentials")


@pytest.mark.parametrize(
    ("rights", "said"),
    [(None, "Unable to locate credentials"), ([{**READS, "Action": "cloudwatch:ListMetrics"}], "GetMetricData")],
)
def test_without_role_or_right_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rights: list[dict[str, Any]] | None, said: str
) -> None:
    program = pod(tmp_path, rights, monkeypatch)
    assert isinstance(program, Ends)
    assert said in str(program.exited(0.0))
