"""What KEDA asks Prometheus of a service that goes to zero, as the real one answers (Q08, X12)."""

import json
import subprocess
from pathlib import Path

import pytest

from rehearsal import toolchain
from tests.stacks.test_scale_to_zero import NAME, queries

pytestmark = [pytest.mark.engine, pytest.mark.scale]

ROUTER = f"httproute-inference-{NAME}-gw-gateway-gateway-ep-websecure-0-0123456789abcdef0123@kubernetesgateway"
OF = f'namespace="inference",service="{NAME}"'
GATEWAY = {'up{namespace="gateway",job="traefik"}': "1x60"}
READY = f'kube_deployment_status_replicas_ready{{namespace="inference",deployment="{NAME}"}}'
NONE, ONE = {READY: "0x60"}, {READY: "1x60"}


def requests(code: str, router: str = ROUTER) -> str:
    return f'traefik_router_requests_total{{router="{router}",code="{code}",method="POST"}}'


def model(running: str, waiting: str = "0x60", cache: str = "0x60", pod: str = "a") -> dict[str, str]:
    held = {"num_requests_running": running, "num_requests_waiting": waiting, "kv_cache_usage_perc": cache}
    return {f'vllm:{metric}{{{OF},pod="{pod}"}}': values for metric, values in held.items()}


STILL = {requests("200"): "7x60"}
CASES = {
    "nobody asked ever": (NONE | GATEWAY, "asked", 0.0),
    "nobody asks any more": (NONE | GATEWAY | STILL, "asked", 0.0),
    "the first request of a kind": (NONE | GATEWAY | STILL | {requests("503"): "_x18 1x40"}, "asked", 1.0),
    "further requests": (NONE | GATEWAY | {requests("503"): "3x18 4x40"}, "asked", 1.0),
    "requests of another service": (
        NONE | GATEWAY | {requests("200", ROUTER.replace(NAME, "x")): "1+1x60"},
        "asked",
        0.0,
    ),
    "plain http is sent to TLS": (
        NONE | GATEWAY | {requests("308", ROUTER.replace(NAME, f"{NAME}-plain")): "1+1x60"},
        "asked",
        0.0,
    ),
    "the gateway started anew": (NONE | GATEWAY | {requests("200"): "9x17 0x40"}, "asked", 0.0),
    "a long stream": (ONE | GATEWAY | STILL | model("1x60"), "asked", 1.0),
    "requests wait": (ONE | GATEWAY | STILL | model("0x60", "4x60"), "asked", 1.0),
    "a replica without work": (ONE | GATEWAY | STILL | model("0x60"), "asked", 0.0),
    "the gateway is not read": (NONE | STILL, "asked", None),
    "the gateway is down": (NONE | {next(iter(GATEWAY)): "0x60"}, "asked", None),
    "the model is not read": (ONE | GATEWAY | STILL, "asked", None),
    "nothing is known of the model": (GATEWAY, "asked", None),
    "all that wait": (ONE | model("9x60", "4x60") | model("9x60", "8x60", pod="b"), "waiting", 12.0),
    "none wait where none are": (NONE, "waiting", 0.0),
    "who waits is not known": (ONE, "waiting", None),
    "caches of all pods": (
        ONE | model("9x60", cache="0.5x60") | model("9x60", cache="0.75x60", pod="b"),
        "cache",
        1.25,
    ),
}


@pytest.fixture(scope="module")
def promtool() -> Path:
    return toolchain.ensure(["prometheus"])["promtool"]


def test_each_query_says_what_it_should(promtool: Path, tmp_path: Path) -> None:
    """After ten minutes, of samples every 30 s. None is an empty answer, which KEDA takes for a failure."""
    tests = [
        {
            "name": name,
            "interval": "30s",
            "input_series": [{"series": each, "values": values} for each, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": queries()[query],
                    "eval_time": "10m",
                    "exp_samples": [] if value is None else [{"labels": "{}", "value": value}],
                }
            ],
        }
        for name, (series, query, value) in CASES.items()
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(json.dumps({"evaluation_interval": "30s", "tests": tests}))
    done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
