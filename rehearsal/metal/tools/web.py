"""curl(1) for the one thing that a preparation fetches: the key of a package repository."""

import pathlib
import re

from rehearsal.metal.tools.machine import called, complain

KEY = re.compile(r"https://pkgs\.k8s\.io/core:/stable:/v\d+\.\d+/deb/Release\.key")


def main(name: str, words: list[str]) -> int:
    """`-o FILE URL`; any other address cannot be reached (status 6, curl(1), EXIT CODES)."""
    called(name, words)
    url = words[-1]
    if not KEY.fullmatch(url):
        return complain(f"curl: (6) Could not resolve host: {url.split('/')[2] if '//' in url else url}", 6)
    pathlib.Path(words[words.index("-o") + 1]).write_text(
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\nrehearsed\n-----END PGP PUBLIC KEY BLOCK-----\n"
    )
    return 0
