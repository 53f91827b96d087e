"""The planned switches and cables as a topology of Mininet, port by port.

Mininet names interfaces after their devices, and Linux has 15 characters for that, so that devices are h1 and s1 there
and say of themselves whom they stand for.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from planner.fabric.cabling import Link, links
from planner.fabric.design import names
from planner.fabric.plan import on_fabric
from planner.metal_types import MetalPlan

_HEAD = '''\
#!/usr/bin/env python3
"""The planned network for Mininet: sudo mn --custom network.py --topo planned --switch lxbr,stp=1 --test pingall

Switches learn addresses; what there is of loops, spanning tree cuts, which takes half a minute. A real fabric uses all
of its links, and routes over them.
"""

from mininet.topo import Topo

'''

_BODY = '''

class Planned(Topo):
    """Devices and cables of the plan; each device says whom it stands for."""

    def build(self):
        for name, device in HOSTS.items():
            self.addHost(name, device=device)
        for name, device in SWITCHES.items():
            self.addSwitch(name, device=device)
        for low, low_port, high, high_port in CABLES:
            self.addLink(low, high, port1=low_port, port2=high_port)


topos = {"planned": Planned}
'''


def cables(plan: MetalPlan) -> Iterator[Link]:
    """The fabric's first plane, or where the machines have none of their own, the networks beside it."""
    if plan.fabric is None:
        for network in plan.networks:
            yield from network.links()
        return
    pools = on_fabric(plan.pools.values())
    hosts = [f"{pool.name}-{number}" for pool in pools for number in range(pool.count)]
    if plan.site:
        hosts = [host.name for pool in pools for host in plan.site.of_pool(pool.name)]
    design = plan.fabric.growth.day_one
    yield from links(design, names(design, nodes=hosts))


def topology(plan: MetalPlan) -> str:
    """The script."""
    found = list(cables(plan))
    above = list(dict.fromkeys(link.high for link in found))
    below = [name for name in dict.fromkeys(link.low for link in found) if name not in set(above)]
    short = {name: f"s{number}" for number, name in enumerate(above, start=1)}
    short |= {name: f"h{number}" for number, name in enumerate(below, start=1)}
    rows = [
        f'    ("{short[low]}", {low_port}, "{short[high]}", {high_port}),'
        for low, low_port, high, high_port in _ports(found)
    ]
    lines = [
        "HOSTS = {",
        *(f'    "{short[name]}": "{name}",' for name in below),
        "}",
        "SWITCHES = {",
        *(f'    "{short[name]}": "{name}",' for name in above),
        "}",
        "CABLES = [",
        *rows,
        "]",
    ]
    return _HEAD + "\n".join(lines) + "\n" + _BODY


def _ports(found: Sequence[Link]) -> Iterator[tuple[str, int, str, int]]:
    """Ports as Mininet counts them: of switches from 1, of machines from 0, in turn over all of their networks."""
    switches, taken = {link.high for link in found}, Counter[str]()
    for link in found:
        low_port = link.low_port + 1 if link.low in switches else taken[link.low]
        taken[link.low] += 1
        yield link.low, low_port, link.high, link.high_port + 1
