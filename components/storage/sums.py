"""Verifies a copy with the file SHA256SUMS that lies beside the source.

The script needs what the image of a copier has: a POSIX shell, cat, and sha256sum (coreutils manual, "sha2 utilities":
of a file that differs or cannot be read it says `NAME: FAILED`, and ends with 1). Files of data, which are many and lie
in directories of any depth, take sort and uniq of coreutils besides.
"""

import shlex
from dataclasses import dataclass

SUMS = "SHA256SUMS"

_TO_THE_THIRD_LEVEL = """
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
_AT_ANY_DEPTH = """
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


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What is copied: the `key` of the stack file that says the digest of its SHA256SUMS, and how a file is found that
    does not stand there (`unlisted`, lines of a shell). The lines are part of the script, and another script is another
    copy: those of one kind stay as they are.
    """

    key: str
    unlisted: str


WEIGHTS = Kind(key="weightsSha256", unlisted=_TO_THE_THIRD_LEVEL)
"""A model's files, which servers read: beside each other, or in directories of directories at most. A file that lies
deeper is compared where it is listed, and not looked for."""
REPOSITORY = Kind(key=WEIGHTS.key, unlisted=_AT_ANY_DEPTH)
"""Triton's models, each with directories of its versions, and some with trees in them (model.savedmodel)."""
DATA = Kind(key="sha256", unlisted=_AT_ANY_DEPTH)
"""A dataset, which may have millions of files in directories of any depth, with names of any letters."""

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


def checked(fetch: list[str], directory: str, *, source: str, sha256: str | None, kind: Kind) -> str:
    """A script that copies by the words `fetch` and compares what came into `directory` with its SHA256SUMS.

    One file that differs fails it with a sentence that names the file. Without a SHA256SUMS it says so, and goes on;
    with the file's own digest `sha256`, which the stack file says at the kind's key, there must be one, it must be that
    one, and every file must stand in it.
    """
    compare = _SCRIPT.replace("LISTED", kind.unlisted.strip("\n")).format(
        directory=shlex.quote(directory),
        sums=SUMS,
        expected=shlex.quote(sha256 or ""),
        source=shlex.quote(source),
        key=kind.key,
    )
    return f"set -e\n{shlex.join(fetch)}{compare}"
