"""Machines as their management controllers see them: power supplies, fans, the air that comes in."""

from monitoring.rule import Group, Recording, in_pool


def _of_machine(what: str, expression: str, *more: str) -> Recording:
    return Recording(f"gpucluster:machine:{what}", in_pool(expression), ("node", "pool", *more))


MACHINE = Group(
    name="machine",
    rules=(
        _of_machine("controller_up", "max by (node) (bmc_up)"),
        _of_machine("power_supplies_well", "sum by (node) (bmc_power_supply_ok)"),
        _of_machine("fan_well", "min by (node, fan) (bmc_fan_ok)", "fan"),
        _of_machine("inlet_celsius", "max by (node) (bmc_inlet_celsius)"),
        _of_machine("power_watts", "sum by (node) (bmc_power_watts)"),
    ),
)
