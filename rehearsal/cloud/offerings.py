"""Which instance types are offered where, read region by region: all regions at once would hold 50 MB for nothing."""

from typing import Any

from moto.utilities import utils as moto_utilities

_LOCATION_TYPES = ("availability-zone", "availability-zone-id", "region")


class _Regions(dict[str, list[dict[str, str]]]):
    """Offerings of one location type by region; a region is read from moto's data when it is first asked for."""

    def __init__(self, location_type: str) -> None:
        super().__init__()
        self._location_type = location_type

    def __missing__(self, region: str) -> list[dict[str, str]]:
        resource = f"ec2/resources/instance_type_offerings/{self._location_type}/{region}.json"
        try:
            rows = moto_utilities.load_resource(resource)
        except FileNotFoundError:
            rows = []
        self[region] = [{**row, "LocationType": self._location_type} for row in rows]
        return self[region]

    def get(self, region: str, default: Any = None) -> Any:
        """The value as ``[]`` gives it, which is what moto means."""
        return self[region] or default


def load_lazily() -> None:
    """Import moto's instance types without their offerings; to be called before anything else imports moto's EC2."""
    load = moto_utilities.load_resource
    moto_utilities.load_resource = lambda resource: [] if "instance_type_offerings" in resource else load(resource)
    try:
        from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS
    finally:
        moto_utilities.load_resource = load
    INSTANCE_TYPE_OFFERINGS.update({location_type: _Regions(location_type) for location_type in _LOCATION_TYPES})
