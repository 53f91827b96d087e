"""Base of the services written here in full: requests parsed and checked by the API's own model, replies serialised.

The model is botocore's, through moto's router, parser and serializer; operations are methods by snake-case name.
"""

from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import BaseResponse
from moto.core.utils import get_service_model

from rehearsal.awsmodels import faults


class Refusal(ServiceException):  # type: ignore[misc]
    """An error of the API: ``code`` as the service names it, and the members its error shape has besides message."""

    def __init__(self, code: str, message: str, **members: Any) -> None:
        super().__init__(code, message)
        for name, value in members.items():
            setattr(self, name, value)


class Service(BaseResponse):  # type: ignore[misc]
    """One AWS service. Subclasses set ``NAME`` (botocore's) and ``INVALID``, the code for malformed input."""

    NAME = ""
    INVALID = ""

    def __init__(self) -> None:
        super().__init__(service_name=self.NAME)
        self.automated_parameter_parsing = True

    @property
    def input(self) -> dict[str, Any]:
        """The request by member names of the API, path and query members included; checked against the model."""
        given = {name: value for name, value in dict(self.params).items() if value is not None}
        shape = get_service_model(self.NAME).operation_model(self._get_action()).input_shape
        for fault in faults(shape, given):
            raise Refusal(self.INVALID, fault)
        return given
