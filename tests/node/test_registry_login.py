"""What brings a mirror's login to a node's kubelet, run with an AWS CLI that writes down how it is called (J16)."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "node" / "registry" / "login.sh"
ARN = "arn:aws:secretsmanager:us-east-2:123456789012:secret:mirror-AbCdEf"


def run(place: Path, secret: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    stub = place / "aws"
    stub.write_text(f'#!/bin/bash\necho "$@" >{place}/call\ncat {place}/secret\nexit {status}\n', encoding="utf-8")
    stub.chmod(0o755)
    (place / "secret").write_text(secret, encoding="utf-8")
    return subprocess.run(
        ["/bin/bash", str(SCRIPT), ARN, "us-east-2", "hub.site.example:5000", str(place / "kubelet" / "config.json")],
        env={"PATH": f"{place}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_kubelet_gets_it_and_nobody_else_reads_it(tmp_path: Path) -> None:
    done = run(tmp_path, json.dumps({"username": "robot$nodes", "password": "h:ush\"'"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    file = tmp_path / "kubelet" / "config.json"
    assert file.stat().st_mode & 0o777 == 0o600
    login = json.loads(file.read_text())["auths"]["hub.site.example:5000"]["auth"]
    assert base64.b64decode(login).decode() == "robot$nodes:h:ush\"'"
    call = (tmp_path / "call").read_text()
    assert f"secretsmanager get-secret-value --region us-east-2 --secret-id {ARN}" in call


def test_what_was_there_stays_where_the_secret_cannot_be_read(tmp_path: Path) -> None:
    assert run(tmp_path, json.dumps({"username": "robot", "password": "one"})).returncode == 0
    file = tmp_path / "kubelet" / "config.json"
    before = file.read_text()
    for secret, status in (("", 254), ("no JSON: s3cret", 0), ('{"username": "robot"}', 0)):
        done = run(tmp_path, secret, status)
        assert done.returncode != 0
        assert file.read_text() == before
        assert "s3cret" not in done.stderr
