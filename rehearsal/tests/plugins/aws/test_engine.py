"""The aws plugin and the language host under the real engine: a small program's whole life."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from rehearsal.plugins.aws.sdk import VERSION
from rehearsal.tests.plugins.aws.conftest import Cloud
from rehearsal.toolchain import ensure

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[4]
PROGRAM = """
    import pulumi, pulumi_aws as aws

    config = pulumi.Config()
    account = aws.Provider(
        "aws",
        region="us-west-2",
        allowed_account_ids=["123456789012"],
        default_tags=aws.ProviderDefaultTagsArgs(tags={"stack": pulumi.get_stack()}),
    )
    mine = pulumi.ResourceOptions(provider=account)
    vpc = aws.ec2.Vpc(
        "main",
        cidr_block="10.0.0.0/16",
        enable_dns_hostnames=True,
        tags={"token": config.require_secret("token")},
        opts=mine,
    )
    group = aws.ec2.SecurityGroup("efa", vpc_id=vpc.id, description=config.get("text") or "efa", opts=mine)
    aws.vpc.SecurityGroupIngressRule(
        "self", security_group_id=group.id, referenced_security_group_id=group.id, ip_protocol="-1", opts=mine
    )
    template = aws.ec2.LaunchTemplate(
        "gpu",
        instance_type=config.get("type") or "p5.4xlarge",
        network_interfaces=[{"device_index": 0, "interface_type": "efa", "security_groups": [group.id]}],
        opts=mine,
    )
    aws.s3.Bucket("data", opts=mine)
    who = aws.get_caller_identity(opts=pulumi.InvokeOptions(provider=account))
    pulumi.export("vpc", vpc.id)
    pulumi.export("version", template.latest_version)
    pulumi.export("account", who.account_id)
"""

RAISED = re.compile(r"^ *[\w.]+(?:Error|Exception)\b", re.MULTILINE)
"""The last line of a traceback that tells a fault of the program."""


@dataclass
class Project:
    """A Pulumi project with its own home, backend and plugins."""

    folder: Path
    pulumi: str
    environment: Mapping[str, str]

    def run(self, *arguments: str, code: int = 0) -> str:
        """What pulumi prints; fails unless it ends with this code."""
        done = subprocess.run(
            [self.pulumi, *arguments, "--color=never", "--non-interactive"],
            cwd=self.folder / "program",
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        text = done.stdout + done.stderr
        assert done.returncode == code, text
        return text

    def changes(self, *arguments: str) -> dict[str, int]:
        """How many resources a preview would change, by operation."""
        text = self.run("preview", "--json", *arguments)
        summary: dict[str, int] = json.loads(text[text.index("{") : text.rindex("}") + 1])["changeSummary"]
        return {operation: count for operation, count in summary.items() if operation != "same"}

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs."""
        text = self.run("stack", "output", "--json")
        outputs: dict[str, Any] = json.loads(text)
        return outputs


@pytest.fixture
def project(cloud: Cloud, tmp_path: Path) -> Project:
    plugin = tmp_path / "home" / "plugins" / f"resource-aws-v{VERSION}"
    bin_, program = tmp_path / "bin", tmp_path / "program"
    for folder in (plugin, bin_, program, tmp_path / "backend"):
        folder.mkdir(parents=True)
    _wrapper(plugin / "pulumi-resource-aws", "rehearsal.plugins.aws")
    _wrapper(bin_ / "pulumi-language-python", "rehearsal.plugins.language")
    (bin_ / "pulumi").symlink_to(ensure(["pulumi"])["pulumi"])
    (program / "Pulumi.yaml").write_text("name: slice\nruntime: python\n")
    (program / "__main__.py").write_text(textwrap.dedent(PROGRAM))
    environment = {
        **os.environ,
        "PATH": f"{bin_}:{os.environ['PATH']}",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'backend'}",
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    made = Project(tmp_path, str(bin_ / "pulumi"), environment)
    made.run("stack", "init", "test")
    made.run("config", "set", "--secret", "token", "s3cr3t-t0ken")
    return made


def test_a_stack_lives_and_leaves_nothing(project: Project, cloud: Cloud) -> None:
    before = cloud.call("GET", "inventory")
    assert project.changes() == {"create": 7}
    project.run("up", "--yes", "--skip-preview")
    outputs = project.outputs()
    assert outputs["account"] == "123456789012"
    assert outputs["version"] == 1
    assert project.changes() == {}
    assert _states_with(project, "s3cr3t-t0ken") == []

    project.run("config", "set", "type", "p5.48xlarge")
    assert project.changes() == {"update": 1}
    project.run("up", "--yes", "--skip-preview")
    assert project.outputs()["version"] == 2

    ec2 = cloud.client("ec2")
    ec2.modify_vpc_attribute(VpcId=outputs["vpc"], EnableDnsHostnames={"Value": False})
    text = project.run("refresh", "--yes", "--skip-preview", "--diff")
    assert "~ enableDnsHostnames: true => false" in text
    assert "~ 1 updated" in text
    assert project.changes() == {"update": 1}
    project.run("up", "--yes", "--skip-preview")
    assert ec2.describe_vpc_attribute(VpcId=outputs["vpc"], Attribute="enableDnsHostnames")["EnableDnsHostnames"][
        "Value"
    ]

    # the template stays and takes the new group; the old one goes last
    project.run("config", "set", "text", "other")
    assert project.changes() == {"replace": 2, "update": 1}
    project.run("up", "--yes", "--skip-preview")
    assert project.changes() == {}

    project.run("destroy", "--yes", "--skip-preview")
    assert cloud.call("GET", "inventory") == before


def test_a_failed_up_says_what_failed_and_goes_on_next_time(project: Project, cloud: Cloud) -> None:
    cloud.fault("CreateSecurityGroup", "SecurityGroupLimitExceeded", status=400)
    text = project.run("up", "--yes", "--skip-preview", code=1)
    assert "create aws:ec2/securityGroup:SecurityGroup efa: CreateSecurityGroup: SecurityGroupLimitExceeded" in text
    diagnostics = text.partition("Diagnostics:")[2]
    assert diagnostics.count("Traceback (most recent call last)") <= 2, "main thread and shutdown, as under LF26"
    assert not RAISED.search(diagnostics), "an interrupted program raises KeyboardInterrupt, and nothing else"
    assert "shutting down" not in text
    project.run("up", "--yes", "--skip-preview")
    assert project.changes() == {}
    project.run("destroy", "--yes", "--skip-preview")


def test_an_existing_object_is_imported_without_a_change(project: Project, cloud: Cloud) -> None:
    project.run("up", "--yes", "--skip-preview")
    project.run("state", "delete", "urn:pulumi:test::slice::aws:ec2/launchTemplate:LaunchTemplate::gpu", "--yes")
    templates = cloud.client("ec2").describe_launch_templates(Filters=[{"Name": "tag:stack", "Values": ["test"]}])[
        "LaunchTemplates"
    ]
    [identifier] = [each["LaunchTemplateId"] for each in templates if each["LaunchTemplateName"].startswith("gpu-")]
    provider = "aws=urn:pulumi:test::slice::pulumi:providers:aws::aws"
    project.run(
        "import", "aws:ec2/launchTemplate:LaunchTemplate", "gpu", identifier, "--provider", provider,
        "--yes", "--skip-preview", "--protect=false", "--generate-code=false",
    )  # fmt: skip
    assert project.changes() == {}
    project.run("destroy", "--yes", "--skip-preview")


def test_nothing_outlives_an_engine_that_is_killed(project: Project) -> None:
    program = project.folder / "program" / "__main__.py"
    program.write_text("import time\nopen('running', 'w').close()\ntime.sleep(600)")
    engine = subprocess.Popen(
        [project.pulumi, "up", "--yes", "--skip-preview", "--non-interactive"],
        cwd=project.folder / "program",
        env=dict(project.environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    running = project.folder / "program" / "running"
    while not running.exists():
        with pytest.raises(subprocess.TimeoutExpired):
            engine.wait(0.05)
    children = psutil.Process(engine.pid).children(recursive=True)
    assert children
    engine.send_signal(signal.SIGKILL)
    engine.wait()
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive


def _wrapper(path: Path, module: str) -> None:
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m {module} "$@"\n')
    path.chmod(0o755)


def _states_with(project: Project, text: str) -> list[str]:
    """Files of the backend in which a text stands in clear."""
    files = (path for path in (project.folder / "backend").rglob("*") if path.is_file())
    return [str(path) for path in files if text.encode() in path.read_bytes()]
