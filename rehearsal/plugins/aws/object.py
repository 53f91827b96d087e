"""One resource in one operation: what is known of it, and the calls about it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jmespath

from rehearsal.plugins.aws.account import Account, CallError, Deadline
from rehearsal.plugins.aws.row import FIELD, PROPAGATION, Row
from rehearsal.plugins.servicer import PluginError


@dataclass
class Object:
    """One resource in one operation."""

    account: Account
    row: Row
    token: str
    inputs: dict[str, Any]
    deadline: Deadline
    id: str = ""
    known: dict[str, Any] = field(default_factory=dict)
    """Members of the created or described object, or parts of the id; templates see them."""

    @property
    def region(self) -> str:
        """The resource's own region, or the provider's."""
        return str(self.inputs.get("region") or self.account.region)

    def call(self, operation: str, **parameters: Any) -> Any:
        """A call to the row's service in the resource's region."""
        return self.account.call(self.row.service, operation, parameters, self.region)

    def patiently(self, late: tuple[str, ...], operation: str, **parameters: Any) -> Any:
        """The same, made again for two minutes at most while an error matches `late`: AWS shows late what is new."""
        patience = Deadline(PROPAGATION, self.account.cancelled)
        while True:
            try:
                return self.call(operation, **parameters)
            except CallError as error:
                if not error.matches(late) or not patience.pause():
                    raise

    def search(self, call: str, **parameters: Any) -> Any:
        """What ``operation -> JMESPath`` finds."""
        return self.account.search(self.row.service, call, parameters, self.region)

    def list(self, call: str, **parameters: Any) -> Iterator[Any]:
        """What ``operation -> JMESPath`` finds on all pages."""
        operation, _, path = call.partition(" -> ")
        for page in self.account.pages(self.row.service, operation, parameters, self.region):
            yield from jmespath.search(path, page) or ()

    def _values(self) -> dict[str, Any]:
        account = self.account
        return {
            "account": account.id,
            "partition": account.partition,
            "region": self.region,
            "id": self.id,
            **self.known,
            **{name: value for name, value in self.inputs.items() if value is not None},
        }

    def knows(self, template: str) -> bool:
        """Whether ``fill`` has a value for all of a template."""
        return self._values().keys() >= set(FIELD.findall(template))

    def fill(self, template: str) -> str:
        """A template with the values of this object; raises PluginError if one is missing."""
        values = self._values()
        missing = [name for name in FIELD.findall(template) if name not in values]
        if missing:
            raise PluginError(f"cannot tell which object is meant: no {', '.join(missing)} in id {self.id!r} or inputs")
        return FIELD.sub(lambda found: str(values[found[1]]), template)

    def identity(self) -> str:
        """The id that inputs and known members make; raises PluginError if they do not suffice."""
        return self.row.id(self) if callable(self.row.id) else self.fill(self.row.id)

    def keys(self) -> dict[str, str]:
        """The request members that name this object."""
        return {member: self.fill(template) for member, template in self.row.key.items()}

    def learn(self, id: str) -> None:
        """Takes the id apart: by the import template if it fits, else by the id's own."""
        self.id = id
        for template in (self.row.imports, self.row.id if isinstance(self.row.id, str) else ""):
            if template and (parts := parse(template, id)) is not None:
                self.known.update(parts)
                return

    def missing(self, operation: str, **parameters: Any) -> bool:
        """Makes a call that may find nothing; whether it did find nothing."""
        try:
            self.call(operation, **parameters)
        except CallError as error:
            if error.not_found:
                return True
            raise
        return False


def parse(template: str, text: str) -> dict[str, str] | None:
    """The values that make ``text`` out of the template, or None: ``{a}:{b}`` and ``x:y`` give a=x, b=y."""
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(template))
    found = re.fullmatch(pattern, text)
    return found.groupdict() if found else None
