"""ip(8), of which `ip rule` keeps its rules until a boot: a host may not change what the kernel routes.

Words, lines and exit statuses: iproute2 ip/iprule.c (iprule_modify, print_rule) and lib/libnetlink.c ("RTNETLINK
answers", status 2); File exists: kernel net/core/fib_rules.c, fib_nl_newrule. What else is asked, the real one answers.
"""

import os

from rehearsal.metal.tools import pci
from rehearsal.metal.tools.machine import called, complain, until_boot

REAL = "/usr/bin/ip"
KERNEL = ((0, "from all lookup local"), (32766, "from all lookup main"), (32767, "from all lookup default"))
"""What a kernel begins with (net/ipv4/fib_rules.c, fib_default_rules_init)."""
_VALUES = ("priority", "from", "to", "protocol", "type")


def main(name: str, words: list[str]) -> int:
    """One call."""
    if words[:3] == ["link", "set", "dev"] and words[4:5] == ["mtu"]:
        return _widen(words[3], words[5])
    if words[:1] != ["rule"]:
        os.execv(REAL, [name, *words])  # noqa: S606
    verb, *rest = words[1:] or ["show"]
    if verb in ("show", "list"):
        with until_boot() as state:
            rules = [*KERNEL, *((int(number), text) for number, text in state.get("rules", []))]
        for number, text in sorted(rules, key=lambda rule: rule[0]):
            print(f"{number}:\t{text}")
        return 0
    called(name, words)
    return _change(verb, *_rule(rest))


def _widen(device: str, mtu: str) -> int:
    """What /sys shows of a card's interface, which is no interface of this host's (net/core/dev.c: EINVAL)."""
    found = list(pci.DEVICES.glob(f"*/net/{device}/mtu"))
    if not found:
        return complain(f'Cannot find device "{device}"', 1)
    if int(mtu) > pci.MOST_MTU:
        return complain("Error: mtu greater than device maximum.", 2)
    found[0].write_text(f"{mtu}\n")
    return 0


def _rule(words: list[str]) -> tuple[int, str]:
    """Priority and text of a rule that sends packets nowhere."""
    told, left = {"from": "all", "to": "all"}, list(words)
    action = ""
    while left:
        word = left.pop(0)
        if word in _VALUES and left:
            told[word] = left.pop(0)
        else:
            action = word
    return int(told.get("priority", "0")), f"from {told['from']} to {told['to']} {told.get('type', action)}"


def _change(verb: str, number: int, text: str) -> int:
    with until_boot() as state:
        rules = state.setdefault("rules", [])
        there = [number, text] in rules
        if verb == "add" and not there:
            rules.append([number, text])
            return 0
        if verb in ("del", "delete") and there:
            rules.remove([number, text])
            return 0
    return complain(f"RTNETLINK answers: {'File exists' if verb == 'add' else 'No such file or directory'}", 2)
