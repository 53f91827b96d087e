"""Verifies a copy with the file SHA256SUMS that lies beside the source.

The script needs what the image of a copier has: a POSIX shell, cat, and sha256sum (coreutils manual, "sha2 utilities":
of a file that differs or cannot be read it says `NAME: FAILED`, and ends with 1).
"""

import shlex

SUMS = "SHA256SUMS"
_SCRIPT = """
field=weightsSha256
fail() {{ echo "$1" >&2; exit 1; }}
cd {directory}
if [ ! -f {sums} ]; then
  [ -z {expected} ] || \\
    fail {source}"/{sums} is not there, and the stack file has its digest: upload it, or correct $field"
  echo {source}" has no {sums}: nothing was compared"
  exit 0
fi
if [ -n {expected} ]; then
  echo {expected}"  {sums}" | sha256sum --check --status || \\
    fail {source}"/{sums} is not the one whose digest the stack file has: find out who changed it, or correct $field"
  listed="
$(cat {sums})
"
  for file in * */* */*/*; do
    [ -f "$file" ] && [ "$file" != {sums} ] || continue
    case "$listed" in
      *[\\ */]"$file
"*) ;;
      *) fail {source}"/$file is not in {sums}: remove it, or write {sums} anew and correct $field" ;;
    esac
  done
fi
wrong=$(sha256sum --check --quiet {sums} 2> /dev/null) || {{
  wrong=${{wrong%%: FAILED*}}
  fail {source}"/${{wrong:-{sums}}} is not what {sums} says: upload it again, or find out who changed it"
}}
echo {source}": every file is what {sums} says"
"""


def checked(fetch: list[str], directory: str, *, source: str, sha256: str | None) -> str:
    """A script that copies by the words `fetch` and compares what came into `directory` with its SHA256SUMS.

    One file that differs fails it with a sentence that names the file. Without a SHA256SUMS it says so, and goes on;
    with the file's own digest `sha256` there must be one, it must be that one, and every file must stand in it.
    """
    compare = _SCRIPT.format(
        directory=shlex.quote(directory), sums=SUMS, expected=shlex.quote(sha256 or ""), source=shlex.quote(source)
    )
    return f"set -e\n{shlex.join(fetch)}{compare}"
