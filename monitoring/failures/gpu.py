"""GPUs: lost, faulty, with a stuck driver or a bad link."""

from monitoring.failure import ON_HOST, Action, Failure, Subject
from monitoring.failures import xids
from monitoring.thresholds import Threshold

_CORDON = Action("Keep new pods off the node", "kubectl cordon NODE")
_XIDS = Action("Read which XIDs the driver logged, and for which process", f"{ON_HOST} dmesg --ctime | grep -i xid")
_DRAIN = Action(
    "Drain the node, so that the run saves a checkpoint, then reboot it: that resets its GPUs (on machines with"
    " NVSwitch all GPUs are reset together)",
    "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
)
_EXPORTER = "dcgm-exporter"


def _on_gpu(command: str) -> str:
    """A command in the device plugin's pod of the node, which sees every GPU."""
    pod = (
        "kubectl get pod -n gpu-operator -l app=nvidia-device-plugin-daemonset"
        " --field-selector spec.nodeName=NODE -o name"
    )
    return f"kubectl exec -n gpu-operator $({pod}) -- {command}"


GPU = Subject(
    name="gpu",
    title="GPUs",
    failures=(
        Failure(
            id="gpu-unavailable",
            alert="GpuUnavailable",
            row="GPU unavailable",
            title="A GPU is missing from its node",
            signal="Allocatable nvidia.com/gpu of the node (kube-state-metrics) against what the plan expects of its"
            f" pool, and XIDs 54 and 79 ({_EXPORTER})",
            expression="(gpucluster:pool:expected_gpus_per_node"
            " - on (pool) group_right () gpucluster:node:gpus_allocatable > 0)"
            ' unless on (node) max_over_time(gpucluster:gpu:xid_errors{xid=~"$others"}[1h]) > 0'
            " unless on (node) gpucluster:node:unreachable == 1\n"
            'or count by (node, pool) (gpucluster:gpu:xid_errors{xid=~"$lost"} > 0)',
            limits={"lost": xids.LOST, "others": xids.HARDWARE},
            span="1m",
            severity="critical",
            isolates=True,
            domains=("system", "hardware"),
            owner="hardware",
            summary="Node {{ $labels.node }} of pool {{ $labels.pool }} has lost {{ $value }} of its GPUs.",
            meaning="The node offers fewer GPUs than its instance type has: the driver lost one (XID 79: fallen off"
            " the PCIe bus), or the device plugin marked one unhealthy. A gang that needs every GPU of the node"
            " cannot start there, and one that was running has stopped.",
            causes=(
                "the GPU fell off the PCIe bus (XID 79): power, a bad contact, overheating",
                "driver or firmware did not start on this GPU, after a reboot or an update of the node",
                "the device plugin's pod on the node does not run",
            ),
            actions=(
                _CORDON,
                Action("Compare what the node offers with what the driver sees", _on_gpu("nvidia-smi -L")),
                _DRAIN,
            ),
            over="`kubectl get node NODE -o jsonpath='{.status.allocatable}'` shows every GPU again; the"
            " alert ends with the next evaluation. If the same GPU has XID 79 again after a reboot,"
            " have the machine replaced.",
            link="https://docs.nvidia.com/deploy/xid-errors/",
            guards=("V01", "DC09"),
        ),
        Failure(
            id="gpu-memory",
            alert="GpuMemoryError",
            row="GPU memory errors",
            title="A GPU has memory errors that it cannot correct",
            signal=f"XIDs 48, 64, 95 and 140, uncorrectable ECC errors, rows pending a remap ({_EXPORTER})",
            expression='max by (node, gpu, pool) (gpucluster:gpu:xid_errors{xid=~"$xids"}) > 0 or'
            " increase(gpucluster:gpu:ecc_uncorrectable_errors[5m]) > 0 or gpucluster:gpu:row_remap_failure > 0 or"
            " gpucluster:gpu:row_remap_pending > 0",
            limits={"xids": xids.MEMORY},
            severity="critical",
            isolates=True,
            domains=("hardware",),
            owner="hardware",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} has uncorrectable memory errors ({{ $value |"
            " humanize }} in the last 5 minutes).",
            meaning="HBM returned data that ECC could not correct, so the process that read it was killed and its"
            " run restarts from the last checkpoint. The GPU remaps the bad row to a spare one at its next reset"
            " (XID 63 reports that it has; nothing to do); until then the error can come back. Once no spare row is"
            " left, the GPU has to be replaced.",
            causes=(
                "a defective or worn memory module",
                "heat",
                "a cosmic ray: a single error that does not come back",
            ),
            actions=(
                _CORDON,
                Action(
                    "Look at remapped rows: a remapping failure, or a row that is still pending after a"
                    " reset, means that the GPU has to be replaced",
                    _on_gpu("nvidia-smi -q -d ROW_REMAPPER,ECC"),
                ),
                _DRAIN,
            ),
            over="After the reset no row is pending a remap (`gpucluster:gpu:row_remap_pending` is 0) and 5 minutes"
            " pass without a new error. Run `dcgmi diag -r 3` on the node before you uncordon it.",
            link="https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/",
            guards=("V01", "DC09", "U02", "U10"),
        ),
        Failure(
            id="gpu-memory-contained",
            alert="GpuMemoryErrorContained",
            title="A GPU contained a memory error",
            signal=f"XID 94 ({_EXPORTER})",
            expression='max by (node, gpu, pool) (gpucluster:gpu:xid_errors{xid=~"$xids"}) > 0',
            limits={"xids": xids.CONTAINED},
            severity="warning",
            domains=("hardware",),
            owner="platform",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} contained a memory error: the process that hit"
            " it was killed.",
            meaning="The error hit one process, which has to start again; other processes on the GPU are not"
            " affected. Reset the GPU when it is idle: the reset remaps the bad row to a spare one.",
            causes=("a defective or worn memory module", "a cosmic ray"),
            actions=(
                Action(
                    "Check that the run restarted by itself",
                    "kubectl get pods -A -o wide --field-selector spec.nodeName=NODE",
                ),
                _XIDS,
                Action(
                    "Cordon the node now; when the run has ended, drain and reboot it, which resets the GPU",
                    "kubectl cordon NODE",
                ),
            ),
            over="No XID 94 for 5 minutes. A GPU that reports several in a day will soon have errors that it cannot"
            " contain (page gpu-memory): have it replaced.",
            link="https://docs.nvidia.com/deploy/xid-errors/",
            guards=("DC09",),
        ),
        Failure(
            id="gpu-driver",
            alert="GpuDriverError",
            row="GPU driver/firmware error",
            title="A GPU's driver or firmware hangs",
            signal=f"XIDs 46, 62, 109, 110, 119, 120, 136, 143, 155, 156 and 158 ({_EXPORTER})",
            expression='max by (node, gpu, pool, xid) (gpucluster:gpu:xid_errors{xid=~"$xids"}) > 0',
            limits={"xids": xids.DRIVER},
            severity="critical",
            isolates=True,
            domains=("system",),
            owner="platform",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} reports XID {{ $labels.xid }}: its driver or"
            " firmware hangs and needs a reset.",
            meaning="The GPU's own processor (GSP) or its driver no longer answers (119 and 120 are the GSP,"
            " 62 and 109 the microcontroller and the scheduler of contexts). Work on the GPU hangs or has been"
            " killed, and its gang with it. Older releases of DCGM do not report XID 62 (DCGM issue 235), so read the"
            " kernel's log as well.",
            causes=("a bug in the driver or firmware: NVIDIA's release notes list known ones", "very high load"),
            actions=(_CORDON, _XIDS, _DRAIN),
            over="No such XID for 5 minutes after the reboot. If it comes back, have the machine replaced;"
            " if it comes back on several nodes of one driver version, move the pool to another AMI"
            " or driver version.",
            link="https://docs.nvidia.com/deploy/xid-errors/",
            guards=("V01", "DC09"),
        ),
        Failure(
            id="gpu-nvlink",
            alert="GpuNvlinkError",
            row="GPU NVLink error",
            title="NVLink between GPUs of a node has errors",
            signal=f"XID 74, NVLink recoveries and replayed packets ({_EXPORTER})",
            expression='max by (node, gpu, pool) (gpucluster:gpu:xid_errors{xid=~"$xids"}) > 0 or sum by (node, gpu,'
            ' pool) (increase(gpucluster:gpu:nvlink_errors{kind="recovery"}[5m])) > $recoveries or sum by (node, gpu,'
            ' pool) (increase(gpucluster:gpu:nvlink_errors{kind="replay"}[5m])) > $replays',
            limits={
                "xids": xids.NVLINK,
                "recoveries": Threshold(
                    0, "recoveries in 5 minutes", "alert rules of SageMaker HyperPod (aws.md, HP-CFN)"
                ),
                "replays": Threshold(10, "replays in 5 minutes", "alert rules of SageMaker HyperPod (aws.md, HP-CFN)"),
            },
            severity="critical",
            isolates=True,
            domains=("hardware",),
            owner="hardware",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} has NVLink errors ({{ $value | humanize }} in"
            " the last 5 minutes).",
            meaning="A link between GPUs, or between a GPU and an NVSwitch, drops or replays packets. All-reduce"
            " within the node slows down, and every GPU of the gang waits for it; XID 74 kills the run.",
            causes=(
                "a failing connector or trace",
                "a failing NVSwitch",
                "fabric manager and driver of different versions",
            ),
            actions=(
                _CORDON,
                Action("Read each link's error counters", _on_gpu("nvidia-smi nvlink --errorcounters")),
                _DRAIN,
            ),
            over="The counters do not move for 5 minutes under load; `dcgmi diag -r 3` on the drained node generates"
            " that load.",
            link="https://docs.nvidia.com/deploy/xid-errors/",
            guards=("V01", "U14", "DC09"),
        ),
        Failure(
            id="gpu-pcie",
            alert="GpuPcieError",
            row="PCIe errors",
            title="A GPU's PCIe link is degraded",
            signal=f"PCIe replays, and lanes in use ({_EXPORTER})",
            expression="60 * rate(gpucluster:gpu:pcie_replays[4m]) > $replays or gpucluster:gpu:pcie_width_ratio < 1",
            limits={
                "replays": Threshold(
                    31,
                    "replays a minute",
                    "DCGM 4.5.3, DcgmHealthWatch.cpp: a bit error rate of 1e-12 on PCIe 5 x16, 1.92 a minute"
                    " and lane, rounded up",
                )
            },
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="The PCIe link of GPU {{ $labels.gpu }} of node {{ $labels.node }} {{ if lt $value 1.0 }}runs"
            " on"
            " {{ $value | humanizePercentage }} of its lanes{{ else }}replays {{ $value | humanize }} packets"
            " a minute{{ end }}.",
            meaning="The GPU's link to the host has trained to fewer lanes than it has, or keeps retransmitting."
            " Copies between host and GPU and RDMA between GPU and NIC are slow, so the whole gang is; XID 79 often"
            " follows.",
            causes=("a failing GPU", "a poor contact in the slot or riser", "a failing retimer"),
            actions=(
                Action(
                    "Compare width and generation with the other GPUs of the node",
                    _on_gpu(
                        "nvidia-smi --format=csv"
                        " --query-gpu=index,pcie.link.width.current,pcie.link.width.max,pcie.link.gen.current"
                    ),
                ),
                Action(
                    "Look for corrected PCIe errors (AER) in the kernel log", f"{ON_HOST} dmesg --ctime | grep -i aer"
                ),
                _CORDON,
            ),
            over="No replays for 4 minutes, and all lanes are in use. Run `dcgmi diag -r 3` on a reseated or"
            " replaced GPU before you uncordon its node.",
            link="https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/feature-overview.html#health-monitor",
            guards=("V01", "DC09"),
        ),
    ),
)
