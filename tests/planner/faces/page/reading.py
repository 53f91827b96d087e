"""A page read back: its elements with their attributes, as a browser would have them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "br"}


@dataclass(kw_only=True)
class Node:
    """An element."""

    tag: str
    attributes: dict[str, str]
    children: list["Node"] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str | None = None, **wanted: str) -> list["Node"]:
        """The elements below with that tag and those attributes; `_` stands for `-`, "" for any value."""
        found = []
        for child in self.children:
            has = {key.replace("_", "-"): value for key, value in wanted.items()}
            alike = all(key in child.attributes and value in ("", child.attributes[key]) for key, value in has.items())
            if tag in (None, child.tag) and alike:
                found.append(child)
            found += child.all(tag, **wanted)
        return found

    def words(self) -> str:
        """All text in it."""
        return self.text + "".join(child.words() for child in self.children)

    def number(self, name: str) -> float:
        """A data attribute as a number."""
        return float(self.attributes[f"data-{name}"])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack = [Node(tag="", attributes={})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag=tag, attributes={key: value or "" for key, value in attrs})
        self.stack[-1].children.append(node)
        if tag not in _VOID:
            self.stack.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1].tag == tag, f"</{tag}> closes <{self.stack[-1].tag}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.stack[-1].text += data


def read(page: str) -> Node:
    """The document. Fails where elements are not closed in order."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.stack) == 1, f"<{reader.stack[-1].tag}> is not closed"
    return reader.stack[0]
