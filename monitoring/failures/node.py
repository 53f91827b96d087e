"""Nodes: their memory, mounts, units and interfaces."""

from monitoring.failure import ON_HOST, Action, Failure, Subject
from monitoring.thresholds import Codes, Threshold

_CORDON = Action("Keep new pods off the node", "kubectl cordon NODE")
_CONDITIONS = Action("Read the node's conditions and recent events", "kubectl describe node NODE")

NODE = Subject(
    name="node",
    title="Nodes",
    failures=(
        Failure(
            id="node-memory",
            alert="NodeMemoryError",
            row="Main memory errors",
            title="Main memory of a node is defective",
            signal="Pages that the kernel retired, and uncorrectable errors of the memory controllers"
            " (node_exporter: meminfo, edac)",
            expression="gpucluster:node:memory_corrupted_bytes > 0 or"
            ' increase(gpucluster:node:memory_errors{kind="uncorrectable"}[5m]) > 0',
            severity="critical",
            isolates=True,
            domains=("hardware",),
            owner="hardware",
            summary="Main memory of node {{ $labels.node }} is defective: {{ if ge $value 4096.0 }}{{ $value |"
            " humanize1024 }}B taken out of use{{ else }}{{ $value | humanize }} uncorrectable errors in the last 5"
            " minutes{{ end }}.",
            meaning="A DIMM returned data that ECC could not correct. The kernel retired the page and killed the"
            " process that used it; the next error may crash the node.",
            causes=("a worn DIMM", "heat", "a cosmic ray: a single page, and no further one"),
            actions=(
                _CORDON,
                Action(
                    "Find the DIMM in the kernel's log",
                    f"{ON_HOST} dmesg --ctime | grep -iE 'edac|mce|hardware error'",
                ),
                Action(
                    "Drain the node once the run has saved a checkpoint, and have the DIMM (or the instance) replaced",
                    "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
                ),
            ),
            over="The instance was replaced, or the machine rebooted with a new DIMM: the count of corrupted bytes"
            " is 0 again.",
            link="https://docs.kernel.org/admin-guide/RAS/main.html",
            guards=("V01",),
        ),
        Failure(
            id="node-mount",
            alert="NodeMountError",
            row="Filesystem mounts",
            title="A node's file system hangs",
            signal="Mounts whose statfs fails or times out, a read-only root, the condition StorageReady"
            " (node_exporter: filesystem; kube-state-metrics)",
            expression="gpucluster:node:mount_errors > 0 or gpucluster:node:root_readonly == 1 or max by (node, pool)"
            ' (gpucluster:node:condition_bad{condition="StorageReady"}) == 1',
            severity="critical",
            isolates=True,
            domains=("system",),
            owner="platform",
            summary="Node {{ $labels.node }} has a file system that hangs (mounts affected: {{ $value }}) or a"
            " read-only root.",
            meaning="Processes that touch the mount wait in the kernel (state D) and cannot be killed. A run that"
            " reads data or writes checkpoints there stands still, and pods on the node neither start nor terminate.",
            causes=(
                "the path to the storage: its network, security groups, LNet",
                "the storage's servers are down or full",
                "the client module and the server are incompatible after an update; a failed root disk turns read-only",
            ),
            actions=(
                Action(
                    "List the network mounts, and the processes that wait for one (state D)",
                    f"{ON_HOST} sh -c 'mount -t lustre,nfs,nfs4,ceph; ps -eo state,pid,comm | grep ^D'",
                ),
                Action(
                    "See whether other nodes are affected too: if so, it is the storage",
                    query="gpucluster:node:mount_errors > 0 or gpucluster:node:root_readonly == 1",
                ),
                Action("If it is only this node, cordon and reboot it", "kubectl cordon NODE"),
            ),
            over="statfs of every mount answers again; the alert ends with the next evaluation.",
            link="https://docs.aws.amazon.com/fsx/latest/LustreGuide/troubleshooting.html",
            guards=("V01",),
        ),
        Failure(
            id="node-ethernet",
            alert="NodeEthernetLink",
            row="Ethlink errors",
            title="An Ethernet link of a node is down",
            signal="Operational state of physical interfaces that were up in the last day (node_exporter: netclass),"
            " condition NetworkingReady",
            expression="count by (node, pool) (gpucluster:node:ethernet_up == 0 and"
            " max_over_time(gpucluster:node:ethernet_up[1d]) == 1) or max by (node, pool)"
            ' (gpucluster:node:condition_bad{condition="NetworkingReady"}) == 1',
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="Ethernet links down on node {{ $labels.node }}: {{ $value }}.",
            meaning="The node lost an interface that it had. Pods with addresses on that interface and storage or"
            " management traffic over it are cut off; the node may still be Ready over another one.",
            causes=(
                "a cable, connector or switch port",
                "somebody detached the network interface in the cloud",
                "a failing NIC",
            ),
            actions=(
                Action("See which interface has no carrier", f"{ON_HOST} ip -brief link"),
                _CONDITIONS,
                Action(
                    "On AWS, are all network interfaces of the instance attached?",
                    "aws ec2 describe-instances --filters Name=private-dns-name,Values=NODE --query"
                    " 'Reservations[].Instances[].NetworkInterfaces[].[Attachment.DeviceIndex,Attachment.Status]'",
                ),
            ),
            over="The interface is up again. One that was removed on purpose drops out after a day.",
            link="https://github.com/prometheus/node_exporter#enabled-by-default",
            guards=("V01",),
        ),
        Failure(
            id="node-service",
            alert="NodeServiceFailed",
            row="System services",
            title="A service of a node has failed",
            signal="Failed systemd units (node_exporter: systemd), conditions Ready, KernelReady and"
            " ContainerRuntimeReady reported false",
            expression='max by (node, pool) (gpucluster:node:condition_bad{condition=~"$conditions"}) == 1 or max by'
            " (node, pool) (gpucluster:node:unit_failed) == 1",
            limits={
                "conditions": Codes(
                    values=("Ready", "KernelReady", "ContainerRuntimeReady"),
                    source="Kubernetes: the kubelet says Ready=False where runtime or network plugin fail; the others"
                    " are those of the EKS node monitoring agent",
                )
            },
            severity="critical",
            isolates=True,
            domains=("user", "system", "hardware"),
            owner="platform",
            summary="A system service of node {{ $labels.node }} has failed (container runtime, kernel or a systemd"
            " unit).",
            meaning="The kubelet still reports, but something it depends on does not work: the container runtime,"
            " the kernel, fabric manager, time synchronisation. Running pods go on; new ones do not start.",
            causes=(
                "a container that exhausts disk, memory or process IDs",
                "a bug in, or an update of, the container runtime",
                "a network partition between the node and what the service depends on",
            ),
            actions=(
                _CONDITIONS,
                Action(
                    "See which units have failed, and why",
                    f"{ON_HOST} sh -c 'systemctl --failed; journalctl -p err -n 50'",
                ),
                Action(
                    "Restart the container runtime, which fails most often", f"{ON_HOST} systemctl restart containerd"
                ),
            ),
            over="The unit runs and the condition is true again.",
            link="https://kubernetes.io/docs/reference/node/node-status/#condition",
            guards=("V01",),
            more="If no debug pod starts, the container runtime itself is down: open a shell by SSM or SSH, or"
            " reboot the node. If the failure comes back, drain the node first (`kubectl drain NODE"
            " --ignore-daemonsets --delete-emptydir-data`), then reboot.",
        ),
        Failure(
            id="node-unreachable",
            alert="NodeUnreachable",
            title="A node no longer reports",
            signal="Condition Ready unknown (kube-state-metrics)",
            expression="gpucluster:node:unreachable == 1 unless on (pool) count by (pool) (gpucluster:node:unreachable"
            " == 1 and on (node) max_over_time(gpucluster:node:ready[15m]) == 1) >= $together",
            limits={"together": Threshold(2, "nodes within 15 minutes", "the threshold of nodes-lost-together")},
            span="1m",
            severity="critical",
            domains=("system", "hardware"),
            owner="hardware",
            summary="Node {{ $labels.node }} of pool {{ $labels.pool }} stopped reporting over a minute ago.",
            meaning="The kubelet has not renewed its lease for 40 seconds (the controller's grace period): the"
            " machine is off, hangs, or is cut off from the network. Its gang hangs at the next collective.",
            causes=("power or hardware", "a hung kernel", "a broken network path between node and API server"),
            actions=(
                _CONDITIONS,
                Action(
                    "Does the machine run? On AWS, as below; on premises, `make power STACK=NAME NODE=NODE"
                    " WHAT=status`",
                    "aws ec2 describe-instance-status --include-all-instances --filters"
                    " Name=instance-status.status,Values=impaired",
                ),
                Action(
                    "Its pods may still be running although Kubernetes shows them as Terminating: have the"
                    " machine rebooted or replaced first, then check that they started elsewhere",
                    "kubectl get pods -A -o wide --field-selector spec.nodeName=NODE",
                ),
            ),
            over="The node reports again, or was deleted.",
            link="https://kubernetes.io/docs/concepts/architecture/nodes/#heartbeats",
            guards=("V11", "DC05"),
        ),
        Failure(
            id="node-disk",
            alert="NodeDiskFull",
            title="A node's disk is filling up",
            signal="Free share of each local file system (node_exporter: filesystem)",
            expression="gpucluster:node:filesystem_free_ratio < $free",
            limits={
                "free": Threshold(0.1, "of the file system free", "alert rules of SageMaker HyperPod: disk > 90 %")
            },
            span="5m",
            severity="warning",
            domains=("user", "system"),
            owner="platform",
            summary="File system {{ $labels.mountpoint }} of node {{ $labels.node }} has {{ $value |"
            " humanizePercentage }} of its space left.",
            meaning="The kubelet will soon set DiskPressure, delete images and evict pods. A gang that loses a rank"
            " that way restarts from its last checkpoint.",
            causes=("images and logs", "a run that writes to the container's own file system", "core dumps"),
            actions=(
                Action("See what uses the space", f"{ON_HOST} du -xh --max-depth=2 MOUNTPOINT"),
                Action("Remove unused images", f"{ON_HOST} crictl rmi --prune"),
                _CORDON,
            ),
            over="More than the limit is free again.",
            link="https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
        ),
    ),
)
