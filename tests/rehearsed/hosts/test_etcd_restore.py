"""etcd of three control plane machines is saved, lost and restored: real etcd, etcdctl and etcdutl, on rehearsed hosts.

The kubelet is played by a loop that starts etcd while its static pod's manifest is there, and ends it when it is not.
"""

import base64
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from moto.server import ThreadedMotoServer

from components.metal.etcd_snapshots import CERTIFICATES, FILE, LOOK, SAVE, copying
from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.lacking import missing
from rehearsal.metal.machine import Machine
from rehearsal.tests.inside.account import until
from rehearsal.toolchain import ensure
from tests.components.samples import CLI

from .racks import over_ssh

pytestmark = pytest.mark.engine

LACKING = missing()
ROOT = Path(__file__).resolve().parents[3]
RESTORE = (ROOT / "node/etcd/restore.sh").read_text()
PAGE = (ROOT / "docs/how-to/metal.md").read_text(encoding="utf-8")
NAMES = {f"cp-{number}": f"10.50.0.{number}" for number in (1, 2, 3)}
MEMBERS = " ".join(f"{name}={address}" for name, address in NAMES.items())
CTL = shlex.join(SAVE[: SAVE.index("snapshot")])
KUBELET = """
while sleep 0.1; do
    if [ -e /etc/kubernetes/manifests/etcd.yaml ]; then
        pgrep -x etcd >/dev/null || { sed -n 's/^    - //p' /etc/kubernetes/manifests/etcd.yaml | xargs -d '\\n' \
            setsid sh -c 'exec "$0" "$@" >>/var/log/etcd.log 2>&1 </dev/null' & sleep 1; }
    else
        pkill -x etcd
    fi
done
"""


def manifest(name: str) -> str:
    """etcd's static pod as kubeadm writes it (app/phases/etcd), as far as its flags go."""
    address = NAMES[name]
    cluster = ",".join(f"{each}=https://{where}:2380" for each, where in NAMES.items())
    flags = {
        "advertise-client-urls": f"https://{address}:2379",
        "cert-file": f"{CERTIFICATES}/server.crt",
        "client-cert-auth": "true",
        "data-dir": "/var/lib/etcd",
        "initial-advertise-peer-urls": f"https://{address}:2380",
        "initial-cluster": cluster,
        "key-file": f"{CERTIFICATES}/server.key",
        "listen-client-urls": f"https://127.0.0.1:2379,https://{address}:2379",
        "listen-peer-urls": f"https://{address}:2380",
        "name": name,
        "peer-cert-file": f"{CERTIFICATES}/server.crt",
        "peer-client-cert-auth": "true",
        "peer-key-file": f"{CERTIFICATES}/server.key",
        "peer-trusted-ca-file": f"{CERTIFICATES}/ca.crt",
        "trusted-ca-file": f"{CERTIFICATES}/ca.crt",
    }
    words = "".join(f"    - --{key}={value}\n" for key, value in flags.items())
    return f"spec:\n  containers:\n  - command:\n    - etcd\n{words}    image: registry.k8s.io/etcd:3.6.8-0\n"


def certificates() -> dict[str, bytes]:
    """An authority, one certificate for all servers, and the one that kubeadm makes for health checks."""
    now = datetime.now(UTC)

    def made(
        name: str, issuer: tuple[x509.Name, ec.EllipticCurvePrivateKey] | None
    ) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer, signing = issuer or (subject, key)
        addresses = [x509.IPAddress(IPv4Address(each)) for each in ("127.0.0.1", *NAMES.values())]
        built = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(signer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
            .sign(signing, hashes.SHA256())
        )
        return built, key

    authority, own = made("etcd-ca", None)
    found = {"ca.crt": authority.public_bytes(serialization.Encoding.PEM)}
    for name in ("server", "healthcheck-client"):
        certificate, key = made(name, (authority.subject, own))
        found[f"{name}.crt"] = certificate.public_bytes(serialization.Encoding.PEM)
        found[f"{name}.key"] = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hall, dict[str, Host]]]:
    """Three members that agree."""
    if LACKING:
        pytest.skip(LACKING)
    tools = ensure(["etcd", "etcd-tools"])
    hall = Hall(tmp_path_factory.mktemp("hall"))
    hall.start()
    hall.rack([Machine(name, address, name.upper(), disk_mib=256) for name, address in NAMES.items()])
    keys = certificates()
    for name, host in hall.hosts.items():
        host.power_off()  # what is laid below its /usr while it runs is not seen there
        for tool in ("etcd", "etcdutl", "etcdctl"):
            (host.disk / "usr/local/bin").mkdir(parents=True, exist_ok=True)
            shutil.copy(tools[tool], host.disk / "usr/local/bin" / tool)
        place = host.disk / CERTIFICATES[1:]
        place.mkdir(parents=True)
        for file, content in keys.items():
            (place / file).write_bytes(content)
        (host.disk / "etc/kubernetes/manifests").mkdir()
        (host.disk / "etc/kubernetes/manifests/etcd.yaml").write_text(manifest(name))
        (host.disk / "etc/kubernetes/manifests/kube-apiserver.yaml").write_text("spec: {}\n")
        (host.disk / "etc/systemd/system/kubelet.service").write_text("[Service]\nExecStart=/bin/true\n")
        host.power_on()
        play_kubelet(hall, host)
    yield hall, hall.hosts
    hall.stop()


def play_kubelet(hall: Hall, host: Host) -> None:
    over_ssh(hall, host, f"nohup setsid bash -c {shlex.quote(KUBELET)} >/dev/null 2>&1 </dev/null & disown")


def members(hall: Hall, host: Host) -> set[str]:
    """Those that the host's own etcd counts to its cluster; empty while it does not answer for all of it."""
    done = over_ssh(hall, host, f"{CTL} endpoint health --cluster -w json && {CTL} member list -w json")
    if done.status:
        return set()
    return {each["name"] for each in json.loads(done.stdout.splitlines()[-1])["members"]}


def agree(hall: Hall, host: Host) -> None:
    until(lambda: members(hall, host) == set(NAMES), 60, f"three members to agree, says {host.machine.name}")


def content(hall: Hall, host: Host) -> dict[str, str]:
    lines = over_ssh(hall, host, f"{CTL} get --prefix /registry/").stdout.splitlines()
    return dict(zip(lines[::2], lines[1::2], strict=True))


def revision(hall: Hall, host: Host) -> int:
    done = over_ssh(hall, host, f"{CTL} get / -w json")
    return int(json.loads(done.stdout)["header"]["revision"])


def step(hall: Hall, host: Host, words: str) -> tuple[int | None, str]:
    done = over_ssh(hall, host, f"bash -s -- {words}", RESTORE)
    return done.status, done.stdout + done.stderr


@pytest.fixture
def store() -> Iterator[str]:
    """An object store that answers as S3 does, at this address."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def through_the_store(snapshot: bytes, store: str, place: Path) -> bytes:
    """Where the pod of the schedule copies it, and from where the page's own command brings it, by the real AWS CLI."""
    keys = {"AWS_ACCESS_KEY_ID": "site", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    env = {
        **keys,
        "AWS_ENDPOINT_URL": store,
        "HOME": str(place),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    (place / "etcd.db").write_bytes(snapshot)
    script = copying(CLI, "s3://gpucluster-metal/etcd").replace(FILE, str(place / "etcd.db"))
    hour = datetime.now(UTC)
    (line,) = re.findall(r"^\$ (aws s3 cp .*) etcd\.db$", PAGE, re.MULTILINE)
    there = re.compile(r"etcd/\d-\d\d\.db")
    assert there.search(line)
    fetch = there.sub("etcd/*.db", line).replace("https://s3.hall-2.example.com", store)
    subprocess.run(["aws", "s3", "mb", "s3://gpucluster-metal"], env=env, check=True, timeout=60)
    subprocess.run(["sh", "-c", script], env=env, check=True, timeout=60)
    listed = subprocess.run(
        ["aws", "s3", "ls", "s3://gpucluster-metal/etcd/"], env=env, check=True, capture_output=True
    )
    (name,) = re.findall(r"(\d-\d\d)\.db", listed.stdout.decode())
    assert name in {each.strftime("%u-%H") for each in (hour, datetime.now(UTC))}
    words = shlex.split(fetch.replace("*", name))
    subprocess.run([*words, str(place / "fetched.db")], env=env, check=True, timeout=60)
    return (place / "fetched.db").read_bytes()


def test_what_was_saved_is_back_after_the_loss(
    cluster: tuple[Hall, dict[str, Host]], store: str, tmp_path: Path
) -> None:
    hall, hosts = cluster
    first, *_ = hosts.values()
    agree(hall, first)
    put = "".join(f"{CTL} put /registry/configmaps/default/{number} value-{number}\n" for number in range(20))
    assert over_ssh(hall, first, "bash -es", put).status == 0
    before = content(hall, first)
    assert len(before) == 20

    # As the pod of the schedule does it, word for word.
    saved = over_ssh(hall, first, f"mkdir -p /snapshot && {shlex.join(SAVE)} && {shlex.join(LOOK)}")
    assert saved.status == 0, saved.stderr
    assert over_ssh(hall, first, f"{CTL} put /registry/configmaps/default/late lost").status == 0
    newest = revision(hall, first)
    taken = base64.b64decode(over_ssh(hall, first, "base64 -w0 /snapshot/etcd.db").stdout)
    copied = base64.b64encode(through_the_store(taken, store, tmp_path)).decode()

    for host in hosts.values():
        over_ssh(hall, host, "mkdir -p /var/tmp && base64 -d >/var/tmp/etcd.db", copied)
        status, said = step(hall, host, f"restore /var/tmp/etcd.db {MEMBERS}")
        assert status == 1
        assert "run 'stop' on every machine first" in said

    for host in hosts.values():
        assert step(hall, host, "stop") == (0, "")
        assert not (host.disk / "etc/kubernetes/manifests/kube-apiserver.yaml").exists()
    over_ssh(hall, first, "rm -rf /var/lib/etcd/member")  # lost; the others' data are old

    for name, host in hosts.items():
        status, said = step(hall, host, f"restore /var/tmp/etcd.db {MEMBERS}")
        assert status == 0, said
        assert f"{name}: restored" in said
        assert ("what was there is in /var/lib/etcd-before-" in said) is (host is not first)
    assert "ok, it has this snapshot already" in step(hall, first, f"restore /var/tmp/etcd.db {MEMBERS}")[1]
    for host in hosts.values():
        status, said = step(hall, host, "start")
        assert (status, said) == (0, ""), said
        assert (host.disk / "etc/kubernetes/manifests/kube-apiserver.yaml").exists()

    for host in hosts.values():
        agree(hall, host)
        assert content(hall, host) == before
        assert revision(hall, host) > newest, "watchers would take old revisions for new ones"
    assert over_ssh(hall, first, f"{CTL} put /registry/after the-restore").status == 0
    assert content(hall, list(hosts.values())[-1])["/registry/after"] == "the-restore"


def test_with_one_machine_lost_nothing_needs_to_be_restored(cluster: tuple[Hall, dict[str, Host]]) -> None:
    """The plug is pulled: two of three go on, one of three does not; back, all have what they missed."""
    hall, hosts = cluster
    first, second, third = hosts.values()
    agree(hall, first)
    third.power_off()
    until(lambda: over_ssh(hall, first, f"{CTL} put /registry/without-one goes-on").status == 0, 60, "two to go on")
    second.power_off()
    alone = over_ssh(hall, first, f"{CTL} --command-timeout=3s put /registry/without-two goes-on")
    assert alone.status != 0
    for host in (second, third):
        host.power_on()
        play_kubelet(hall, host)
    for host in hosts.values():
        agree(hall, host)
        assert content(hall, host)["/registry/without-one"] == "goes-on"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "type stop, restore or start"),
        ("restore /var/tmp/etcd.db", "restore takes the snapshot's path"),
        (f"restore /var/tmp/none.db {MEMBERS}", "there is no file /var/tmp/none.db"),
        ("restore /etc/hostname cp-1=10.50.0.9", "lack this machine's own, cp-1=https://10.50.0.1:2380"),
        (f"restore /etc/hostname {MEMBERS}", "etcdutl cannot restore /etc/hostname: nothing was changed"),
    ],
)
def test_what_cannot_be_restored_is_refused(cluster: tuple[Hall, dict[str, Host]], words: str, sentence: str) -> None:
    hall, hosts = cluster
    first = hosts["cp-1"]
    assert step(hall, first, "stop")[0] == 0
    had = over_ssh(hall, first, "ls -R /var/lib/etcd").stdout
    status, said = step(hall, first, words)
    assert status == 1
    assert sentence in said
    assert over_ssh(hall, first, "ls -R /var/lib/etcd").stdout.replace("restored", "") == had.replace("restored", "")
    assert step(hall, first, "start")[0] == 0
