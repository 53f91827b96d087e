"""How amendments to moto are written down: functions collected by decorators, put in place once by :meth:`apply`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

Function = Callable[..., Any]


class Amendments:
    """The amendments one module makes to moto's classes.

    Nothing changes at import: the server calls :meth:`apply` once, before its first request.
    """

    def __init__(self) -> None:
        self._pending: list[tuple[object, str, Any]] = []

    def attribute(self, owner: object, name: str, value: Any) -> None:
        """Set an attribute of a class or a module, such as a property."""
        self._pending.append((owner, name, value))

    def operation(self, owner: type) -> Callable[[Function], Function]:
        """Add the decorated function to ``owner`` under its own name; moto finds operations by snake-case name."""

        def collect(function: Function) -> Function:
            self._pending.append((owner, function.__name__, function))
            return function

        return collect

    def around(self, owner: type, name: str) -> Callable[[Function], Function]:
        """Replace ``owner.name``; the decorated function receives moto's own one as its first argument."""

        def collect(function: Function) -> Function:
            original: Function = getattr(owner, name)

            @wraps(original)
            def amended(*args: Any, **kwargs: Any) -> Any:
                return function(original, *args, **kwargs)

            self._pending.append((owner, name, amended))
            return function

        return collect

    def apply(self) -> None:
        """Put the collected amendments in place; calling it again changes nothing."""
        for owner, name, function in self._pending:
            setattr(owner, name, function)
        self._pending.clear()
