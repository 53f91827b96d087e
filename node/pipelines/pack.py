"""Step 2: documents become tokens, and tokens sequences of one length, documents one after the other with an end mark.

A document is held out for evaluation by its own hash, so that a model is never measured by what it was trained on,
whichever order the files come in. Tokens are 32 bits, little endian, as the reference trainer reads them.
"""

from __future__ import annotations

import argparse
import array
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from steps import Made, Record, StepError, before, do, ended, hash_of

END = 256
"""The end mark of the tokenizer `bytes`, after which it has no other token."""


def main(words: Sequence[str]) -> Record:
    """Raises StepError for documents that are none, and too few of them."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--snapshot", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--tokenizer", default="bytes", help="bytes, or a tokenizer.json that `tokenizers` reads")
    parser.add_argument("--end-token", default="<|endoftext|>", help="end-of-document token, with a tokenizer.json")
    parser.add_argument("--sequence-length", type=int, required=True)
    parser.add_argument("--vocab", type=int, required=True, help="size of the model's vocabulary")
    parser.add_argument("--hold-out", type=int, default=20, help="one document in so many is held out for evaluation")
    asked = parser.parse_args(words)
    taken = before(asked.snapshot, "snapshot")
    if asked.sequence_length < 1 or asked.hold_out < 2:
        raise StepError("--sequence-length must be at least 1 and --hold-out at least 2; raise them")
    encode, end, name = _tokenizer(asked.tokenizer, asked.end_token)
    told = {
        "snapshot": taken.digest,
        "tokenizer": name,
        "sequenceLength": asked.sequence_length,
        "vocab": asked.vocab,
        "holdOut": asked.hold_out,
    }

    def make(place: Path) -> Made:
        texts = (text for file in sorted(taken.files) for text in _texts(asked.snapshot / file))
        return _pack(texts, encode, end, asked, place)

    return do("pack", asked.into, told, make)


def _tokenizer(said: str, end: str) -> tuple[Callable[[str], list[int]], int, str]:
    if said == "bytes":
        return (lambda text: list(text.encode())), END, "bytes"
    path = Path(said)
    if not path.is_file():
        raise StepError(f"--tokenizer {said} is not a file; type bytes, or the path of a tokenizer.json")
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise StepError("this image lacks the package tokenizers; take one that has it, or --tokenizer bytes") from None
    loaded = Tokenizer.from_file(str(path))
    mark = loaded.token_to_id(end)
    if mark is None:
        raise StepError(f"{said} has no token {end}; set its end-of-document token with --end-token")
    return (lambda text: list(loaded.encode(text, add_special_tokens=False).ids)), mark, hash_of(path)


def _texts(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(_lines(file, path), 1):
            try:
                text = json.loads(line)["text"]
            except (ValueError, KeyError, TypeError):
                raise StepError(f'{path}:{number} is not a document; each line must be {{"text": "..."}}') from None
            if not isinstance(text, str):
                raise StepError(f"{path}:{number} has no text; each line must be a document")
            if text:
                yield text


def _lines(file: Iterator[str], path: Path) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise StepError(f"{path} is not UTF-8 ({error.reason}); write it as UTF-8") from None


def _pack(
    texts: Iterator[str], encode: Callable[[str], list[int]], end: int, asked: argparse.Namespace, place: Path
) -> Made:
    documents = dict.fromkeys(("train", "eval"), 0)
    with ExitStack() as opened:
        parts = {part: opened.enter_context(_Writer(place / f"{part}.bin")) for part in documents}
        for text in texts:
            held = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % asked.hold_out == 0
            part = "eval" if held else "train"
            tokens = [*encode(text), end]
            if (most := max(tokens)) >= asked.vocab:
                raise StepError(
                    f"a token is {most}, and the model has {asked.vocab}: take its own tokenizer, or --vocab"
                )
            parts[part].write(tokens)
            documents[part] += 1
        row = asked.sequence_length + 1
        rows = {part: writer.cut(row) for part, writer in parts.items()}
    for part, writer in parts.items():
        if not rows[part]:
            raise StepError(
                f"{documents[part]} documents for {part} hold {writer.tokens} tokens, too few for a sequence of {row}; "
                + ("lower --hold-out, or bring more documents" if part == "eval" else "bring more documents")
            )
    facts = {"tokenizer": "bytes" if asked.tokenizer == "bytes" else hash_of(Path(asked.tokenizer)), "row": row}
    facts |= {f"{part}Rows": count for part, count in rows.items()}
    facts |= {f"{part}Documents": count for part, count in documents.items()}
    return Made(["train.bin", "eval.bin"], facts)


class _Writer:
    """A file of tokens."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self.tokens = 0

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, tokens: list[int]) -> None:
        """Tokens of a document, with its end mark."""
        packed = array.array("i", tokens)
        if sys.byteorder == "big":
            packed.byteswap()
        self._file.write(packed.tobytes())
        self.tokens += len(tokens)

    def cut(self, row: int) -> int:
        """How many whole rows there are; what is left behind them goes."""
        rows = self.tokens // row
        self._file.truncate(rows * row * 4)
        return rows


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
