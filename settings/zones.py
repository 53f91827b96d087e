"""Names of AWS regions and zones."""

_DIRECTIONS = {
    "north": "n",
    "south": "s",
    "east": "e",
    "west": "w",
    "central": "c",
    "northeast": "ne",
    "northwest": "nw",
    "southeast": "se",
    "southwest": "sw",
    "gov": "g",
}


def zone_prefix(region: str) -> str:
    """What the zone ids of a region begin with: us-east-2 -> use2, ap-northeast-1 -> apne1, us-gov-west-1 -> usgw1."""
    area, *middle, number = region.split("-")
    return area + "".join(_DIRECTIONS.get(word, word[0]) for word in middle) + number
