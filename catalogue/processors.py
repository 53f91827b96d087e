"""Processors as they are sold. A server row names one of these; a row of a site's own is compared with them."""

from catalogue.metal_types import Cpu

CORES = {
    "AMD EPYC 7742": 64,
    "AMD EPYC 7763": 64,
    "AMD EPYC 9354": 32,
    "AMD EPYC 9454": 48,
    "AMD EPYC 9554": 64,
    "AMD EPYC 9654": 96,
    "AMD EPYC 9754": 128,
    "AMD Ryzen 7 5800X": 8,
    "Intel Xeon 6776P": 64,
    "Intel Xeon Gold 6430": 32,
    "Intel Xeon Platinum 8470": 52,
    "Intel Xeon Platinum 8480+": 56,
    "Intel Xeon Platinum 8480C": 56,
    "Intel Xeon Platinum 8490H": 60,
    "Intel Xeon Platinum 8558": 48,
    "Intel Xeon Platinum 8570": 56,
    "Intel Xeon Platinum 8592+": 64,
}
"""Cores of one socket: AMD's and Intel's product pages; 8480C as in NVIDIA's DGX H100 user guide."""


def cpu(model: str, sockets: int = 2) -> Cpu:
    """The processors of a server. Raises KeyError if the model is not in `CORES`."""
    return Cpu(model=model, sockets=sockets, cores=CORES[model])
