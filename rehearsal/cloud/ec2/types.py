"""Instance types and where they are offered, page by page: moto answers with all 1,400 at once, some seconds of work.

Sources: EC2 API reference, DescribeInstanceTypes (MaxResults from 5 to 100) and DescribeInstanceTypeOfferings (from
5 to 1000); without MaxResults the answer is whole here, as callers of moto are used to.
"""

import json
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal

AMENDMENTS = Amendments()
_found: dict[tuple[str, str, str], list[Any]] = {}
"""What filters found: neither types nor offers ever change."""


@AMENDMENTS.around(EC2Response, "describe_instance_types")
def describe_instance_types(original: Any, self: Any) -> Any:
    """A page of the types that filters leave; those that are named are given at once."""
    if self._get_param("InstanceTypes", []) or not self._get_param("MaxResults"):
        return original(self)
    self.error_on_dryrun()
    filters = self._filters_from_querystring()
    key = ("types", self.region, json.dumps(filters, sort_keys=True))
    return _page(self, key, "InstanceTypes", lambda: self.ec2_backend.describe_instance_types(None, filters))


@AMENDMENTS.around(EC2Response, "describe_instance_type_offerings")
def describe_instance_type_offerings(original: Any, self: Any) -> Any:
    """A page of the offers."""
    if not self._get_param("MaxResults"):
        return original(self)
    kind, filters = self._get_param("LocationType"), self._filters_from_querystring()
    key = (f"offers by {kind}", self.region, json.dumps(filters, sort_keys=True))
    read = lambda: self.ec2_backend.describe_instance_type_offerings(kind, filters)  # noqa: E731
    return _page(self, key, "InstanceTypeOfferings", read)


def _page(self: Any, key: tuple[str, str, str], member: str, read: Any) -> ActionResult:
    if key not in _found:
        _found[key] = list(read())
    text = str(self._get_param("NextToken") or "0")
    if not text.isdigit():
        raise refusal("InvalidNextToken", f"The token '{text}' is invalid")
    begin, most = int(text), int(self._get_param("MaxResults"))
    page = _found[key][begin : begin + most]
    more = {"NextToken": str(begin + most)} if begin + most < len(_found[key]) else {}
    return ActionResult({member: page, **more})
