"""On-premises machines as their management controllers (BMCs) report them, where the stack reads their sensors."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

_CONTROLLERS = "management controllers, by Redfish (inventory.controllers.sensors)"
_STATUS = Action("Read the machine's present state from its BMC", "make power STACK=NAME NODE=NODE WHAT=status")
_LOG = Action("Read the machine's hardware log (SEL)", "make power STACK=NAME NODE=NODE WHAT=log")
_SCHEMAS = "https://redfish.dmtf.org/schemas/"

MACHINE = Subject(
    name="machine",
    title="Machines on racks",
    failures=(
        Failure(
            id="power-supply-lost",
            alert="PowerSupplyLost",
            title="A machine has lost a power supply",
            signal=f"Power supplies that are present, on and healthy ({_CONTROLLERS}) against what the plan's"
            " server has",
            expression="gpucluster:pool:expected_power_supplies - on (pool) group_right ()"
            " gpucluster:machine:power_supplies_well > 0",
            span="2m",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="Machine {{ $labels.node }} of pool {{ $labels.pool }} has lost {{ $value }} of its power"
            " supplies.",
            meaning="The machine runs on the remaining supplies, without redundancy: with too few left it first"
            " brakes its GPUs (page gpu-power-brake), then goes down.",
            causes=(
                "a power supply failed, or was pulled out",
                "its feed is dead: a breaker, a PDU (several machines then show it), or a loose cord",
            ),
            actions=(
                _STATUS,
                Action(
                    "Find out whether it is one machine or a shared feed: count by pool in Prometheus",
                    query="count by (pool) (gpucluster:pool:expected_power_supplies - on (pool) group_right ()"
                    " gpucluster:machine:power_supplies_well > 0)",
                ),
                _LOG,
            ),
            over="The BMC reports every power supply as OK. Power supplies are hot-swappable.",
            link=_SCHEMAS,
            guards=("B19", "V11"),
            more="If the machine was built with fewer power supplies than the catalogue says, the alert never ends:"
            " correct the catalogue's row in the stack file (`gpucluster:catalogue`).",
        ),
        Failure(
            id="fan-failed",
            alert="FanFailed",
            title="A fan of a machine has failed",
            signal=f"Health of fans ({_CONTROLLERS})",
            expression="gpucluster:machine:fan_well == 0",
            span="2m",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="Fan {{ $labels.fan }} of machine {{ $labels.node }} has failed.",
            meaning="The other fans spin up. Under load the GPUs behind it become hot and throttle, and every gang"
            " they belong to slows down with them.",
            causes=("the fan is worn out or blocked", "its module is not seated", "the BMC lost its sensor reading"),
            actions=(
                _STATUS,
                Action(
                    "See whether the machine's GPUs run hotter than those of other machines",
                    query='max by (node) (gpucluster:gpu:temperature_celsius{pool="POOL"})',
                ),
                _LOG,
            ),
            over="The BMC reports the fan as OK.",
            link=_SCHEMAS,
            guards=("B19", "H14"),
        ),
        Failure(
            id="inlet-hot",
            alert="InletHot",
            title="A machine's inlet air is too warm",
            signal=f"Inlet air temperature ({_CONTROLLERS}) against what the maker of the plan's server allows",
            expression="gpucluster:machine:inlet_celsius > on (pool) group_left () gpucluster:pool:inlet_limit_celsius"
            " or (gpucluster:machine:inlet_celsius > $celsius unless on (pool) gpucluster:pool:inlet_limit_celsius)",
            limits={
                "celsius": Threshold(
                    35,
                    "C, of servers whose maker's limit the catalogue does not have",
                    "ASHRAE TC 9.9, Thermal Guidelines for Data Processing Environments: class A2, allowable",
                ),
            },
            span="5m",
            severity="critical",
            domains=("hardware",),
            owner="hardware",
            summary="Machine {{ $labels.node }} of pool {{ $labels.pool }} has drawn in air of {{ $value }} C for 5"
            " minutes, more than it may be given.",
            meaning="The room's cooling does not keep up. GPUs throttle first; then machines shut themselves down,"
            " all those of a row within minutes of each other.",
            causes=(
                "a cooling unit of the room or row has stopped, or its set point was changed",
                "hot exhaust air recirculates: a missing blanking panel, an open aisle door",
                "a faulty sensor: other machines in the rack report a normal temperature",
            ),
            actions=(
                Action(
                    "See which machines are affected: one, a rack, or the row",
                    query="topk(20, gpucluster:machine:inlet_celsius)",
                ),
                _STATUS,
                Action("Keep new gangs off the node until the room has cooled down", "kubectl cordon NODE"),
            ),
            over="The inlet air is below the limit again.",
            link="https://www.ashrae.org/technical-resources/bookstore/datacom-series",
            guards=("B19", "H14", "H15"),
        ),
        Failure(
            id="controller-silent",
            alert="ControllerSilent",
            title="A management controller does not answer",
            signal=f"Whether each controller answered the last poll ({_CONTROLLERS})",
            expression="gpucluster:machine:controller_up == 0",
            span="15m",
            severity="warning",
            domains=("hardware", "system"),
            owner="hardware",
            summary="The management controller of machine {{ $labels.node }} has not answered for 15 minutes.",
            meaning="Power supplies, fans and inlet air of this machine are not monitored, and it cannot be"
            " power-cycled remotely when it hangs. Its workloads are not affected.",
            causes=(
                "the BMC hangs, or its network or certificate was changed",
                "the password of the account that reads the sensors was changed, or the account is locked",
            ),
            actions=(
                Action("Read the reason, one line per BMC", "kubectl logs -n monitoring deployment/sensors"),
                _STATUS,
                Action(
                    "If the machine itself is healthy, reset its BMC from its operating system",
                    "ssh USER@ADDRESS sudo ipmitool mc reset cold",
                ),
            ),
            over="The BMC answers the next poll, within a minute. A refused password is not tried again until the"
            " Secret changes.",
            link=_SCHEMAS,
            guards=("B19", "F06"),
        ),
    ),
)
