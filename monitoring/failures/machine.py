"""Machines as their management controllers see them, on racks whose controllers are asked for their sensors."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

_CONTROLLERS = "management controllers, by Redfish (inventory.controllers.sensors)"
_STATUS = Action(
    say="Read what the controller says of the machine now", command="make power STACK=NAME NODE=NODE WHAT=status"
)
_LOG = Action(say="Read the hardware's own log", command="make power STACK=NAME NODE=NODE WHAT=log")
_SCHEMAS = "https://redfish.dmtf.org/schemas/"

MACHINE = Subject(
    name="machine",
    title="Machines on racks",
    failures=(
        Failure(
            id="power-supply-lost",
            alert="PowerSupplyLost",
            title="A machine lacks a power supply",
            signal=f"Power supplies that are in their place, on and healthy ({_CONTROLLERS}) against what the plan's"
            " server has",
            expression="gpucluster:pool:expected_power_supplies - on (pool) group_right ()"
            " gpucluster:machine:power_supplies_well > 0",
            limits={},
            span="2m",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="Machine {{ $labels.node }} of pool {{ $labels.pool }} lacks {{ $value }} of its power supplies.",
            meaning="The machine goes on with the others, and there are fewer of them to lose: when too few are left it"
            " brakes its GPUs (page gpu-power-brake), then it is gone.",
            causes=(
                "a supply failed, or was pulled out",
                "its feed is dead: a breaker, a PDU, a cord that came loose; then it is so on several machines",
            ),
            actions=(
                _STATUS,
                Action(
                    say="Ask whether it is one machine or a feed: in Prometheus, count by pool",
                    query="count by (pool) (gpucluster:pool:expected_power_supplies - on (pool) group_right ()"
                    " gpucluster:machine:power_supplies_well > 0)",
                ),
                _LOG,
            ),
            over="The controller shows every supply as OK. Supplies are changed while the machine runs.",
            link=_SCHEMAS,
            guards=("B19", "V11"),
            more="A machine with fewer supplies than its row of the catalogue says it has keeps this alert: correct the"
            " row (`gpucluster:catalogue`).",
        ),
        Failure(
            id="fan-failed",
            alert="FanFailed",
            title="A fan of a machine failed",
            signal=f"Health of fans ({_CONTROLLERS})",
            expression="gpucluster:machine:fan_well == 0",
            limits={},
            span="2m",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="Fan {{ $labels.fan }} of machine {{ $labels.node }} failed.",
            meaning="The others turn faster. Under load the GPUs behind it become hot, lower their clocks, and every"
            " gang that they are part of waits for them.",
            causes=("the fan is worn out or blocked", "its module is not seated", "the controller lost its reading"),
            actions=(
                _STATUS,
                Action(
                    say="See whether GPUs of the machine are warmer than their neighbours",
                    query='max by (node) (gpucluster:gpu:temperature_celsius{pool="POOL"})',
                ),
                _LOG,
            ),
            over="The controller shows the fan as OK.",
            link=_SCHEMAS,
            guards=("B19", "H14"),
        ),
        Failure(
            id="inlet-hot",
            alert="InletHot",
            title="A machine is given air that is too warm",
            signal=f"Temperature of the air that comes in ({_CONTROLLERS}) against what the maker of the plan's server"
            " allows",
            expression="gpucluster:machine:inlet_celsius > on (pool) group_left () gpucluster:pool:inlet_limit_celsius"
            " or (gpucluster:machine:inlet_celsius > $celsius unless on (pool) gpucluster:pool:inlet_limit_celsius)",
            limits={
                "celsius": Threshold(
                    value=35,
                    unit="C, of servers whose maker's limit the catalogue does not have",
                    source="ASHRAE TC 9.9, Thermal Guidelines for Data Processing Environments: class A2, allowable",
                ),
            },
            span="5m",
            severity="critical",
            domains=("hardware",),
            owner="hardware",
            summary="Machine {{ $labels.node }} of pool {{ $labels.pool }} is given air of {{ $value }} C.",
            meaning="The room does not cool as it should. GPUs lower their clocks first; machines that become too hot"
            " switch themselves off, and those of a row do so within minutes of each other.",
            causes=(
                "a cooling unit of the room or row stands still, or its set point was changed",
                "hot air comes round: a missing blanking panel, an open door of the aisle",
                "the sensor is wrong: its neighbours in the rack say something else",
            ),
            actions=(
                Action(
                    say="See which machines are warm: one, a rack, or the row",
                    query="topk(20, gpucluster:machine:inlet_celsius)",
                ),
                _STATUS,
                Action(say="Keep new gangs off until the room is cool", command="kubectl cordon NODE"),
            ),
            over="The air is below the limit for 5 minutes.",
            link="https://www.ashrae.org/technical-resources/bookstore/datacom-series",
            guards=("B19", "H14", "H15"),
        ),
        Failure(
            id="controller-silent",
            alert="ControllerSilent",
            title="A management controller does not answer",
            signal=f"Whether each controller answered at the last look ({_CONTROLLERS})",
            expression="gpucluster:machine:controller_up == 0",
            limits={},
            span="15m",
            severity="warning",
            domains=("hardware", "system"),
            owner="hardware",
            summary="The management controller of {{ $labels.node }} does not answer.",
            meaning="Nobody watches power supplies, fans and air of this machine, and nobody can switch it when it"
            " hangs. What runs there goes on.",
            causes=(
                "the controller hangs, or its network or certificate was changed",
                "the account that reads sensors has another password, or was locked",
            ),
            actions=(
                Action(
                    say="Read why, by controller",
                    command="kubectl logs -n monitoring deployment/sensors",
                ),
                _STATUS,
                Action(
                    say="Where the machine is well, reset its controller from the machine itself",
                    command="ssh USER@ADDRESS sudo ipmitool mc reset cold",
                ),
            ),
            over="The controller answers at the next look, which is a minute away. A password that was refused is tried"
            " again when the Secret has another.",
            link=_SCHEMAS,
            guards=("B19", "F06"),
        ),
    ),
)
