"""Which service and which of its operations a request means: moto's own answers, asked for once."""

from functools import cache
from typing import Any

from moto.core import responses
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from rehearsal.cloud.amend import Amendments

AMENDMENTS = Amendments()
AMENDMENTS.attribute(responses, "method_names_from_class", cache(responses.method_names_from_class))


class Dispatcher(DomainDispatcherApplication):  # type: ignore[misc]
    """Hands each request to the application of its service. Moto looks through 200 directories for its name."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._names: dict[str | None, Any] = {}

    def get_backend_for_host(self, host: str | None) -> Any:
        """The service at a host name, None if there is none."""
        if host not in self._names:
            self._names[host] = super().get_backend_for_host(host)
        return self._names[host]
