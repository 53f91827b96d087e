"""curl(1) for the two things that a preparation fetches: the key of a package repository, and an API server's word that
it lives.
"""

import pathlib
import re

from rehearsal.metal.tools.machine import ask, called, complain

KEY = re.compile(r"https://pkgs\.k8s\.io/core:/stable:/v\d+\.\d+/deb/Release\.key")
LIVEZ = re.compile(r"https://([0-9.]+):6443/livez")


def main(name: str, words: list[str]) -> int:
    """`-o FILE URL`; any other address cannot be reached (status 6 by name, 7 by number: curl(1), EXIT CODES)."""
    called(name, words)
    url = words[-1]
    livez = LIVEZ.fullmatch(url)
    if livez:
        serves = ask({"kind": "etcd", "verb": "serves", "address": livez[1]}).get("serves")
        return 0 if serves else complain(f"curl: (7) Failed to connect to {livez[1]} port 6443", 7)
    if not KEY.fullmatch(url):
        return complain(f"curl: (6) Could not resolve host: {url.split('/')[2] if '//' in url else url}", 6)
    pathlib.Path(words[words.index("-o") + 1]).write_text(
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\nrehearsed\n-----END PGP PUBLIC KEY BLOCK-----\n"
    )
    return 0
