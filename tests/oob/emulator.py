"""Controllers for tests: a process of the emulator on loopback, with a certificate of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import bcrypt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from oob.access import Controller

ROOT = Path(__file__).parents[2]
UUID = "27946b59-9e44-4fa7-8e91-f3527a1ef094"
SYSTEM = f"/redfish/v1/Systems/{UUID}"
CHASSIS = "/redfish/v1/Chassis/15693887-7984-9484-3272-842188918912"
MANAGER = f"/redfish/v1/Managers/{UUID}"
POWER, LOGS = f"{CHASSIS}/Power", f"{SYSTEM}/LogServices"
STORE = f"{SYSTEM}/Storage"
USER, PASSWORD = "gpucluster", "correct horse"
SERIAL = "1661923000401"


def supply(number: int, **members: Any) -> dict[str, Any]:
    """A power supply of `Power`, well and of 3300 W."""
    status = {"State": "Enabled", "Health": "OK"}
    return {"MemberId": str(number), "Name": f"PSU{number}", "PowerCapacityWatts": 3300, "Status": status} | members


def dgx(**changes: Any) -> dict[str, Any]:
    """What the emulator's machine has beside its own members: a DGX H100. `changes` are other keys of emulated.py."""
    machine = {
        "Manufacturer": "NVIDIA",
        "Model": "DGXH100",
        "SerialNumber": SERIAL,
        "BiosVersion": "1.06.07",
        "MemorySummary": {"TotalSystemMemoryGiB": 2048, "Status": {"Health": "OK"}},
        "LogServices": {"@odata.id": LOGS},
        "SerialConsole": {
            "SSH": {
                "ServiceEnabled": True,
                "Port": 2200,
                "ConsoleEntryCommand": "start /SP/console",
                "HotKeySequenceDisplay": "Press ~. to leave",
            },
            "IPMI": {"ServiceEnabled": False},
        },
    }
    power = {"PowerSupplies": [supply(number) for number in range(6)], "Redundancy": [{"Status": {"Health": "OK"}}]}
    drive = {"@odata.id": f"{STORE}/1/Drives/1"}
    told: dict[str, Any] = {
        "members": {
            SYSTEM: machine,
            CHASSIS: {"Power": {"@odata.id": POWER}},
            MANAGER: {"FirmwareVersion": "24.09.17"},
        },
        "documents": {
            POWER: power,
            LOGS: {"Members": [{"@odata.id": f"{LOGS}/SEL"}]},
            f"{LOGS}/SEL": {"Id": "SEL", "Entries": {"@odata.id": f"{LOGS}/SEL/Entries"}},
            f"{LOGS}/SEL/Entries": {
                "Members": [
                    {"Created": "2026-11-01T08:00:00Z", "Severity": "OK", "Message": "system started"},
                    {"Created": "2026-11-02T09:00:00Z", "Severity": "Critical", "Message": "PSU3 lost its input"},
                ]
            },
            STORE: {"Members": [{"@odata.id": f"{STORE}/1"}]},
            f"{STORE}/1": {"Id": "1", "Drives": [drive]},
            drive["@odata.id"]: {"Name": "NVMe 1", "SerialNumber": "D1", "Status": {"Health": "OK"}},
        },
    }
    return told | changes


@dataclass(frozen=True)
class Certificates:
    """An authority, and a controller's certificate that it signed."""

    authority: str
    certificate: Path
    key: Path
    fingerprint: str


def certificates(directory: Path) -> Certificates:
    """Fresh ones, for 127.0.0.1."""
    ours, theirs = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "site")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bmc")])

    def begun(name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        made = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key.public_key())
        made = made.serial_number(x509.random_serial_number())
        return made.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))

    top = begun(issuer, ours).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    leaf = begun(subject, theirs)
    names = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    leaf = leaf.add_extension(names, critical=False)
    signed = leaf.sign(ours, hashes.SHA256())
    certificate, key = directory / "bmc.pem", directory / "bmc.key"
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        theirs.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return Certificates(
        authority=top.sign(ours, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode(),
        certificate=certificate,
        key=key,
        fingerprint=signed.fingerprint(hashes.SHA256()).hex(":").upper(),
    )


@dataclass
class Emulator:
    """A controller that runs, and the file by which it is told what it is."""

    port: int
    certificates: Certificates
    record: Path
    file: Path
    process: subprocess.Popen[bytes]

    def tell(self, **told: Any) -> Emulator:
        """From now on it is what emulated.py makes of these, and nobody has asked it anything."""
        known = json.loads(self.file.read_text("utf-8"))
        self.file.write_text(json.dumps({**known, **NOTHING, **told}), "utf-8")
        self.record.write_text("", "utf-8")
        return self

    def controller(self, **changes: Any) -> Controller:
        """How it is asked, by its fingerprint."""
        known = {"address": "127.0.0.1", "port": self.port, "user": USER, "fingerprint": self.certificates.fingerprint}
        return Controller(**{**known, **changes})

    def requests(self) -> list[tuple[str, str, Any]]:
        """Method, path and body of every request so far."""
        return [tuple(json.loads(line)) for line in self.record.read_text("utf-8").splitlines()]

    def changes(self) -> list[tuple[str, str, Any]]:
        """Those that would change something."""
        return [each for each in self.requests() if each[0] != "GET" and "/Sessions" not in each[1]]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


NOTHING: dict[str, Any] = {
    "documents": {},
    "members": {},
    "without": {},
    "slow": {},
    "status": {},
    "sessions": False,
}


def start(directory: Path) -> Emulator:
    """Start one and wait until it listens."""
    made, record, file = certificates(directory), directory / "requests", directory / "emulator.json"
    passwords, log = directory / "passwords", directory / "log"
    passwords.write_text(f"{USER}:{bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()}\n", "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {
        "port": port,
        "certificate": str(made.certificate),
        "key": str(made.key),
        "user": USER,
        "password": PASSWORD,
        "passwords": str(passwords),
        "record": str(record),
        "systems": [{"uuid": UUID, "name": "fake", "power_state": "On", "nics": []}],
    }
    file.write_text(json.dumps({**NOTHING, **own}), "utf-8")
    with log.open("wb") as said:
        words = [sys.executable, "-m", "tests.oob.emulated", str(file)]
        process = subprocess.Popen(words, stdout=said, stderr=said, cwd=ROOT)
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return Emulator(port, made, record, file, process)
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    process.wait(10)
    raise RuntimeError(log.read_text("utf-8"))
