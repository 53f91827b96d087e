"""What the rehearsal must build before a resource can work, where no preview could tell.

`make up` builds what its preview shows. Inputs may be known only while the stack is applied; then the engine waits
here, in Check, to which it gives no time limit, and not in Create.
"""

import threading
from collections.abc import Callable
from typing import Any

from rehearsal.plugins.servicer import PluginError
from rehearsal.plugins.wire import decode
from rehearsal.toolchain import BuildError, needs

Provide = Callable[[Any, Callable[[str], None]], None]
"""Called with a CheckRequest and what shows a line to the person."""


def none(request: Any, report: Callable[[str], None]) -> None:
    """Builds nothing: for a plugin without a rehearsal behind it."""


class Building:
    """Builds what is lacking. Raises PluginError if that fails."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._anything: bool | None = None

    def __call__(self, request: Any, report: Callable[[str], None]) -> None:
        try:
            with self._lock:
                if self._anything is None:
                    self._anything = bool(needs.OPTIONAL.lacking())
            if self._anything:
                needs.of([(request.type, decode(request.news)[0])]).provide(report)
        except BuildError as error:
            raise PluginError(str(error)) from None
