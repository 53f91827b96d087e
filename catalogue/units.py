"""Conversions between the units of the field, so that bits and bytes, GB and GiB are never mixed by hand.

Rates of a link are Gb/s and rates of data GB/s, both one way; NVLink's usual figure counts both ways (900 GB/s are 450
each way).
"""

BITS_PER_BYTE = 8
BYTES_PER_GB = 10**9
BYTES_PER_GIB = 2**30
GIB_PER_TIB = 1024
MIB_PER_GIB = 1024
GB_PER_TB = 1000
HOURS_PER_DAY = 24
HOURS_PER_MONTH = 730
HOURS_PER_YEAR = 8760
SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86400


def gbyte_per_s(gbit_per_s: float) -> float:
    """GB/s one way of a link of so many Gb/s."""
    return gbit_per_s / BITS_PER_BYTE


def gbit_per_s(gbyte_per_s_: float) -> float:
    """Gb/s of a stream of so many GB/s one way."""
    return gbyte_per_s_ * BITS_PER_BYTE


def gb(gib: float) -> float:
    """Decimal GB in so many GiB."""
    return gib * BYTES_PER_GIB / BYTES_PER_GB


def gib(gb_: float) -> float:
    """GiB in so many decimal GB."""
    return gb_ * BYTES_PER_GB / BYTES_PER_GIB
