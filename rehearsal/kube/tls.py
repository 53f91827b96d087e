"""TLS over connections whose other side may be killed, or reset them, before TLS begins."""

import errno
import ssl
from typing import Any


class Connection(ssl.SSLSocket):
    """A connection that its other side has reset before TLS began is closed.

    The base class raises and forgets it (Python 3.11, Lib/ssl.py, SSLSocket._create: only a failed
    handshake closes).
    """

    def getpeername(self) -> Any:
        try:
            return super().getpeername()
        except OSError as error:
            self.close()
            raise ConnectionAbortedError(errno.ECONNABORTED, "the other side has gone") from error
