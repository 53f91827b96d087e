"""What the program's own containers do when they are rehearsed."""

from typing import Any

import pytest

from rehearsal.images.table import known
from rehearsed import PROGRAM, saves, trainer, vllm


@pytest.mark.parametrize(
    ("image", "container", "start"),
    [
        ("docker.io/vllm/vllm-openai:v0.29.0", "vllm", vllm.run),
        ("registry:5000/team/trainer", "pytorch", trainer.run),
        ("public.ecr.aws/aws-cli/aws-cli:2.31.0", "backup", saves.sync),
    ],
)
def test_the_programs_images(image: str, container: str, start: Any) -> None:
    row = known(PROGRAM.images).find(image, container)
    assert row is not None
    assert row.start is start


def test_a_program_is_known_by_what_is_started_whatever_image_and_container_are_called() -> None:
    images = known(PROGRAM.images)
    server = {"name": "main", "image": "team/chat:1", "command": ["/opt/bin/vllm", "serve", "/m", "--port=9000"]}
    assert images.listens({"spec": {"containers": [server]}}, 9000)
    assert not images.listens({"spec": {"containers": [server]}}, 8000)
    for command, start in ((["torchrun", "/x.py"], trainer.run), (["vllm", "serve"], vllm.run)):
        row = images.find("team/own:1", "main", command)
        assert row is not None
        assert row.start is start
    assert images.find("team/own:1", "main", ["python", "/x.py"]) is None
    assert images.find("team/own:1", "main") is None


def test_command_lines_of_vllm() -> None:
    assert vllm.parse(["--model", "/m/x", "--tensor-parallel-size=8", "--port", "9000"]) == vllm.Serve(
        "/m/x", 8, 1, 9000
    )
    assert vllm.parse(["vllm", "serve", "/m/x", "-tp", "2"]) == vllm.Serve("/m/x", 2, 1, 8000)
    assert vllm.parse(["sh", "-c", "exec vllm serve /m/x --port 8080"]) == vllm.Serve("/m/x", 1, 1, 8080)
    assert vllm.parse(["--enable-prefix-caching", "--model", "/m"]).model == "/m"


def test_a_server_seen_from_outside_listens_on_the_port_of_its_command_line() -> None:
    server = {"name": "vllm", "image": "vllm/vllm-openai:v0.29.0", "args": ["--model", "/m", "--port", "$(PORT)"]}
    pod = {"spec": {"containers": [{**server, "env": [{"name": "PORT", "value": "8001"}]}]}}
    assert known(PROGRAM.images).listens(pod, 8001)
    assert not known(PROGRAM.images).listens(pod, 8000)


def test_gpus_asked_for_must_be_there() -> None:
    assert vllm.wrong(vllm.Serve("/m", 1, 1, 8000), 1) is None
    assert "World size (8)" in (vllm.wrong(vllm.Serve("/m", 4, 2, 8000), 4) or "")
    assert "no GPU" in (vllm.wrong(vllm.Serve("/m", 1, 1, 8000), 0) or "")


def test_load_time_follows_the_files_and_their_file_system_and_not_the_paths_name() -> None:
    """Another name of the service is another path, and loads as long."""

    def seconds(*argv: str, stored: int = 0, rate: float = 1e9) -> float:
        return vllm.load_seconds(vllm.parse(["vllm", "serve", *argv]), stored, rate)

    assert seconds("/m/chat", stored=16 * 10**9) == seconds("/m/llama-3-70b", stored=16 * 10**9) == pytest.approx(76)
    assert seconds("/m/chat", stored=16 * 10**9, rate=234e6) == pytest.approx(60 + 68.4, abs=0.1)
    assert seconds("/m/chat", "--load-format=dummy", stored=16 * 10**9) == pytest.approx(60)
    assert seconds("meta-llama/Llama-3.3-70B-Instruct") == pytest.approx(200)


def test_command_lines_of_vllm_with_adapters() -> None:
    adapters = ["--enable-lora", "--lora-modules", "sql=/a/sql", "law=/a/law", "--max-loras=2"]
    ours = ["--served-model-name=chat", *adapters, "--shutdown-timeout=60", "--port=8001"]
    served = vllm.parse(["vllm", "serve", "/m", *ours])
    assert (served.model, served.names, served.port) == ("/m", ("chat",), 8001)
    assert served.adapters == (("sql", "/a/sql"), ("law", "/a/law"))
    assert vllm.unread(served, "vllm/vllm-openai:v0.17.1") is not None
    assert vllm.unread(served, "vllm/vllm-openai:v0.29.0") is None
    assert vllm.unread(vllm.parse(["vllm", "serve", "/m"]), "vllm/vllm-openai:v0.17.1") is None


def test_rendezvous_of_more_nodes_than_pods_never_happens() -> None:
    """KJ06: --nnodes counts nodes, WORLD_SIZE counts ranks."""
    env = {"PET_NNODES": "2", "WORLD_SIZE": "16"}
    assert trainer.rendezvous_problem(["torchrun", "--nnodes=2", "t.py"], env) is None
    assert trainer.rendezvous_problem(["torchrun", "t.py"], env) is None
    assert "16 nodes" in (trainer.rendezvous_problem(["sh", "-c", "torchrun --nnodes=$WORLD_SIZE t.py"], env) or "")


def test_elastic_jobs_need_their_least_number_only() -> None:
    assert trainer.rendezvous_problem(["torchrun", "--nnodes=2:4", "t.py"], {"PET_NNODES": "2:4"}) is None
