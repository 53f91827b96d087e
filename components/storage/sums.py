"""Verifies a copy with the file SHA256SUMS that lies beside the source.

The script needs what the image of a copier has: a POSIX shell, cat, and sha256sum (coreutils manual, "sha2 utilities":
of a file that differs or cannot be read it says `NAME: FAILED`, and ends with 1). Files of data, which are many and lie
in directories of any depth, take sort and uniq of coreutils besides.
"""

import shlex

SUMS = "SHA256SUMS"
WEIGHTS_KEY = "weightsSha256"
"""The key by which a stack file says the digest of weights. What has another key is data."""

_WEIGHTS_LISTED = """
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
"""
_DATA_LISTED = """
  below() {{
    for file in "$1"*; do
      if [ -d "$file" ]; then below "$file/"; continue; fi
      [ -f "$file" ] || continue
      case "$file" in
        *'
'*) file="/$file" ;;
      esac
      printf '%s\\n' "$file"
    done
  }}
  twice() {{ printf '%s\\n%s\\n' "$1" "$1"; }}
  listed() {{
    while read -r _ file; do file=${{file#[*]}}; twice "${{file#./}}"; done < {sums}
  }}
  # What is listed is there twice or more, and / once: without it the names did not come to their end.
  once=$({{ echo /; twice {sums}; below ""; listed; }} | LC_ALL=C sort | uniq -u)
  if [ "$once" != / ]; then
    file=$(printf '%s\\n' "$once" | while IFS= read -r file; do
      [ "$file" = / ] || {{ printf '%s' "$file"; break; }}
    done)
    [ -n "$file" ] || fail {source}": the names of its files could not be sorted: look at the room in /tmp"
    fail {source}"/${{file#/}} is not in {sums}: remove it, or write {sums} anew and correct $field"
  fi
"""
_SCRIPT = """
field={key}
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
LISTED
fi
wrong=$(sha256sum --check --quiet {sums} 2> /dev/null) || {{
  wrong=${{wrong%%: FAILED*}}
  fail {source}"/${{wrong:-{sums}}} is not what {sums} says: upload it again, or find out who changed it"
}}
echo {source}": every file is what {sums} says"
"""


def checked(fetch: list[str], directory: str, *, source: str, sha256: str | None, key: str = WEIGHTS_KEY) -> str:
    """A script that copies by the words `fetch` and compares what came into `directory` with its SHA256SUMS.

    One file that differs fails it with a sentence that names the file. Without a SHA256SUMS it says so, and goes on;
    with the file's own digest `sha256`, which the stack file says at `key`, there must be one, it must be that one, and
    every file must stand in it.
    """
    listed = _WEIGHTS_LISTED if key == WEIGHTS_KEY else _DATA_LISTED
    compare = _SCRIPT.replace("LISTED", listed.strip("\n")).format(
        directory=shlex.quote(directory),
        sums=SUMS,
        expected=shlex.quote(sha256 or ""),
        source=shlex.quote(source),
        key=key,
    )
    return f"set -e\n{shlex.join(fetch)}{compare}"
