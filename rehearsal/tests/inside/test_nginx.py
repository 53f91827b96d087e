"""nginx before a neighbour in its pod: what it reads, what it says where it cannot, whom probes and callers reach."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cluster.pages import Request, texts
from rehearsal.images import nginx, nginx_rules
from rehearsal.images.nginx_syntax import ConfigError, parse
from rehearsal.images.table import known
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.lifecycle import Container
from rehearsal.kubelet.program import TIME_SCALE, Launch, Mount, Program
from rehearsal.tests.inside.simulated import Node

CONFIG = """
events { worker_connections 64; }
http {
  include /etc/door/maps.conf;
  server {
    listen 8000;
    location = /health { proxy_pass http://127.0.0.1:8001/health; }
    location /v1/ {
      if ($who = no) { return 401 'who "are" you'; }
      proxy_pass http://127.0.0.1:8001/v1/;
    }
    location / { return 404; }
  }
}
"""
MAPS = 'map $http_x_who $who { default no; Somebody yes; "~^a\\x2db\\z" yes; }'
COMMAND = ["nginx", "-c", "/etc/door/nginx.conf", "-g", "daemon off;"]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    node = Node(tmp_path)
    node.objects["configmaps", "door"] = {"kind": "ConfigMap", "data": {"nginx.conf": CONFIG, "maps.conf": MAPS}}
    pod = node.pod("p")
    pod["spec"]["volumes"] = [{"name": "etc", "configMap": {"name": "door"}}]
    mount = Mount("/etc/door", "pod:p:etc", name="etc")
    yield node.launch(pod, spec={"name": "door", "image": "nginx:1"}, command=COMMAND, mounts=(mount,))
    node.world.backends.close()


def ask(launch: Launch, path: str, **headers: str) -> int:
    handler = launch.world.backends.handler(launch.namespace, launch.pod_name, 8000)
    assert handler is not None
    return handler(
        Request("GET", path, headers={name.replace("_", "-"): each for name, each in headers.items()})
    ).status


def test_it_leads_to_its_neighbour_once_that_listens(launch: Launch) -> None:
    nginx.run(launch)
    assert ask(launch, "/health") == 502
    Answering(launch, {8001: texts({"/health": lambda: "", "/v1/models": lambda: "[]"})}, local=True)
    assert ask(launch, "/health") == 200
    assert [ask(launch, "/v1/models", x_who=each) for each in ("", "somebody", "a-b", "A-B")] == [401, 200, 200, 401]
    assert (ask(launch, "/v1/none", x_who="a-b"), ask(launch, "/metrics"), ask(launch, "/v1")) == (404, 404, 301)


def test_what_listens_inside_the_pod_is_reached_from_inside_only(launch: Launch) -> None:
    program = Answering(launch, {8001: texts({"/health": lambda: ""})}, local=True)
    assert launch.world.backends.find(launch.namespace, launch.pod_name, 8001) is None
    assert not program.listens(8001, time.monotonic())
    program.stop()
    nginx.run(launch)
    assert ask(launch, "/health") == 502


def test_a_probe_is_answered_by_whichever_container_listens_there(launch: Launch) -> None:
    probe = {"startupProbe": {"httpGet": {"path": "/health", "port": 8000}}}
    engine = Container({"name": "engine", "image": "e:1", **probe}, "main")
    door, inside = nginx.run(launch), Answering(launch, {8001: texts({"/health": lambda: ""})}, local=True)
    now = time.monotonic()
    engine.begin(inside, now)
    engine.look(now)
    assert not engine.started
    engine.beside = lambda: [inside, Program()]
    engine.look(now)
    assert not engine.started, "an image that nobody knows answers its own probes only"
    engine.beside = lambda: [inside, door]
    engine.look(now)
    assert engine.started


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("maps.conf", "other.conf", 'open() "/etc/door/other.conf" failed (2: No such file or directory)'),
        ("listen 8000", "lisen 8000", 'unknown directive "lisen" in /etc/door/nginx.conf:6'),
        ("return 404", "rewrite 404", 'unknown directive "rewrite" in /etc/door/nginx.conf:12'),
        ("return 404; }", "return 404;", 'unexpected end of file, expecting "}" or ";"'),
        ("127.0.0.1:8001/health", "elsewhere", 'host not found in upstream "http://elsewhere"'),
    ],
)
def test_it_dies_of_what_it_cannot_read(old: str, new: str, says: str) -> None:
    text = CONFIG.replace(old, new)
    files = {"/etc/door/nginx.conf": text, "/etc/door/maps.conf": MAPS}
    with pytest.raises(ConfigError) as raised:
        nginx_rules.read(files, "/etc/door/nginx.conf")
    assert says in str(raised.value)


def test_without_its_file_the_container_ends_with_nginxs_words(launch: Launch) -> None:
    ended = nginx.run(replace(launch, mounts=())).exited(time.monotonic() + 1)
    assert ended is not None
    assert ended.message.startswith('nginx: [emerg] open() "/etc/door/nginx.conf" failed')


def test_words_are_read_as_nginx_reads_them() -> None:
    (one, two) = parse('a "b \\"c\\" \\x41" \'d {;}\'; # no\ne { f; }', "x")
    assert (one.name, one.words) == ("a", ['b "c" \\x41', "d {;}"])
    assert (two.name, [each.name for each in two.block]) == ("e", ["f"])


def test_seen_from_outside_it_listens_where_its_container_says() -> None:
    container: dict[str, Any] = {"name": "door", "image": "nginx:1", "ports": [{"containerPort": 8000}]}
    pod = {"spec": {"containers": [container]}}
    assert known().listens(pod, 8000)
    assert not known().listens(pod, 8080)


SCRIPT = '"$@" &\nserver=$!\n  kill -HUP "$server"\n'


def data_of(launch: Launch) -> dict[str, str]:
    """The files of the ConfigMap, to be changed."""
    found = launch.world.find("configmaps", "door")
    assert found is not None
    data: dict[str, str] = found["data"]
    return data


def following(launch: Launch) -> Launch:
    """The same, behind a shell whose script has it read its files again when the maps have changed."""
    data_of(launch)["serve.sh"] = SCRIPT
    return replace(launch, command=["sh", "/etc/door/serve.sh", "/etc/door/maps.conf", *COMMAND])


def test_behind_a_script_it_reads_its_files_again_and_keeps_good_ones(launch: Launch) -> None:
    work: dict[str, Any] = getattr(launch.world.tasks.run, "__self__")  # noqa: B009 - the simulated node's own
    program = nginx.run(following(launch))
    Answering(launch, {8001: texts({"/v1/models": lambda: "[]"})}, local=True)
    data = data_of(launch)
    (look,) = work.values()
    data["maps.conf"] = MAPS.replace("Somebody", "Another")
    assert [ask(launch, "/v1/models", x_who=each) for each in ("somebody", "another")] == [200, 401]
    assert look() == nginx.SYNC_SECONDS / TIME_SCALE
    assert [ask(launch, "/v1/models", x_who=each) for each in ("somebody", "another")] == [401, 200]
    data["maps.conf"] = "map {"
    look()
    assert ask(launch, "/v1/models", x_who="another") == 200
    program.stop()
    assert not work


@pytest.mark.parametrize("script", ["", "exec nginx"])
def test_another_script_before_it_is_not_passed_over(launch: Launch, script: str) -> None:
    told = following(launch)
    data_of(launch)["serve.sh"] = script
    ended = nginx.run(told).exited(time.monotonic() + 9)
    assert ended is not None
    assert ended.code == 2
