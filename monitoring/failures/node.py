"""Nodes: their memory, mounts, units and interfaces."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Codes, Threshold

_CORDON = Action(say="Keep new pods off the node", command="kubectl cordon NODE")
_CONDITIONS = Action(
    say="Read the node's conditions and last events",
    command="kubectl describe node NODE",
)


def _on_host(say: str, command: str) -> Action:
    """A command in the node's own file system and namespaces."""
    return Action(
        say=say, command=f"kubectl debug node/NODE -it --image=busybox --profile=sysadmin -- chroot /host {command}"
    )


NODE = Subject(
    name="node",
    title="Nodes",
    failures=(
        Failure(
            id="node-memory",
            alert="NodeMemoryError",
            row="Main memory errors",
            title="Main memory of a node is defective",
            signal="Pages that the kernel took out of use, and uncorrectable errors of the memory controllers"
            " (node_exporter: meminfo, edac)",
            expression="gpucluster:node:memory_corrupted_bytes > 0 or"
            ' increase(gpucluster:node:memory_errors{kind="uncorrectable"}[5m]) > 0',
            limits={},
            span="0s",
            severity="critical",
            isolates=True,
            domains=("hardware",),
            owner="hardware",
            summary="Main memory of node {{ $labels.node }} is defective ({{ $value }}: bytes taken out of use, or"
            " errors in 5 minutes).",
            meaning="A DIMM returned data that ECC could not repair. The kernel took the page away and ended the"
            " process that used it; the next error may hit the kernel.",
            causes=("a DIMM that wears out", "heat", "radiation: one page, never again"),
            actions=(
                _CORDON,
                Action(
                    say="Find the DIMM in the kernel's log",
                    command="kubectl debug node/NODE -it --image=busybox --profile=sysadmin -- chroot /host dmesg"
                    " --ctime | grep -iE 'edac|mce|hardware error'",
                ),
                Action(
                    say="Move the pods when the run has saved, and have the DIMM (or the instance) replaced",
                    command="kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
                ),
            ),
            over="The machine was replaced, or was rebooted with a new DIMM: the count of corrupted bytes is 0 again.",
            link="https://docs.kernel.org/admin-guide/RAS/main.html",
            guards=("V01",),
        ),
        Failure(
            id="node-mount",
            alert="NodeMountError",
            row="Filesystem mounts",
            title="A file system of a node does not answer",
            signal="Mounts whose statfs fails or takes too long, a root that is read-only, the condition StorageReady"
            " (node_exporter: filesystem; kube-state-metrics)",
            expression="gpucluster:node:mount_errors > 0 or gpucluster:node:root_readonly == 1 or max by (node, pool)"
            ' (gpucluster:node:condition_bad{condition="StorageReady"}) == 1',
            limits={},
            span="0s",
            severity="critical",
            isolates=True,
            domains=("system",),
            owner="platform",
            summary="{{ $value }} mounts of node {{ $labels.node }} do not answer, or its root is read-only.",
            meaning="Processes that touch the mount wait in the kernel (state D) and cannot be killed. A run that"
            " reads data or saves there stands still; pods of the node neither start nor end.",
            causes=(
                "the path to the storage: a network of its own, security groups, LNet",
                "the storage's servers are down or full",
                "the client's module and the server disagree after an update; a root that failed turns read-only",
            ),
            actions=(
                Action(
                    say="See which network mounts there are, and which processes wait for one (state D)",
                    command="kubectl debug node/NODE -it --image=busybox --profile=sysadmin -- chroot /host sh -c"
                    " 'mount -t lustre,nfs,nfs4,ceph; ps -eo state,pid,comm | grep ^D'",
                ),
                Action(
                    say="Ask whether other nodes have it too: if so, it is the storage",
                    query="gpucluster:node:mount_errors > 0 or gpucluster:node:root_readonly == 1",
                ),
                Action(say="Only one node has it: keep pods off, then reboot it", command="kubectl cordon NODE"),
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
            limits={},
            span="0s",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="{{ $value }} Ethernet links of node {{ $labels.node }} are down.",
            meaning="The node lost an interface that it had. Pods with addresses of that interface, storage or"
            " management traffic are cut off; the node may still be Ready over another one.",
            causes=(
                "a cable, plug or switch port",
                "somebody detached the interface in the cloud",
                "a card that fails",
            ),
            actions=(
                _on_host("See which interface has no carrier", "ip -brief link"),
                _CONDITIONS,
                Action(
                    say="On AWS: are all of the instance's interfaces attached?",
                    command="aws ec2 describe-instances --filters Name=private-dns-name,Values=NODE --query"
                    " 'Reservations[].Instances[].NetworkInterfaces[].[Attachment.DeviceIndex,Attachment.Status]'",
                ),
            ),
            over="The interface is up again. An interface that was removed for good stops counting after a day.",
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
            span="0s",
            severity="critical",
            isolates=True,
            domains=("user", "system", "hardware"),
            owner="platform",
            summary="A service that node {{ $labels.node }} needs has failed.",
            meaning="The kubelet still talks, and says that something under it does not work: the container runtime,"
            " the kernel, fabric manager, time. Pods keep running, and none starts.",
            causes=(
                "a container that fills disk, memory or process table",
                "a bug or an update of the runtime",
                "a partition between the node and what the service needs",
            ),
            actions=(
                _CONDITIONS,
                _on_host("See which units have failed, and why", "sh -c 'systemctl --failed; journalctl -p err -n 50'"),
                _on_host("Start the runtime again, as it fails most often", "systemctl restart containerd"),
            ),
            over="The unit runs and the condition is true again.",
            link="https://kubernetes.io/docs/reference/node/node-status/#condition",
            guards=("V01",),
            more="Where no debug pod starts, the container runtime itself is down: take a shell by SSM or"
            " SSH, or reboot the node. Where it comes back, move the pods first (`kubectl drain NODE"
            " --ignore-daemonsets --delete-emptydir-data`), then reboot.",
        ),
        Failure(
            id="node-unreachable",
            alert="NodeUnreachable",
            title="A node no longer reports",
            signal="Condition Ready unknown (kube-state-metrics)",
            expression="gpucluster:node:unreachable == 1 unless on (pool) count by (pool) (gpucluster:node:unreachable"
            " == 1 and on (node) max_over_time(gpucluster:node:ready[15m]) == 1) >= $together",
            limits={
                "together": Threshold(
                    value=2, unit="nodes within 15 minutes", source="the threshold of nodes-lost-together"
                )
            },
            span="1m",
            severity="critical",
            domains=("system", "hardware"),
            owner="hardware",
            summary="Node {{ $labels.node }} of pool {{ $labels.pool }} no longer reports.",
            meaning="The kubelet has not renewed its lease for 40 seconds (the controller's grace period): the machine"
            " is off, hangs, or is cut off. Its gang stops at the next collective.",
            causes=("power or hardware", "a kernel that hangs", "a network between node and API server that is cut"),
            actions=(
                _CONDITIONS,
                Action(
                    say="Does the machine run? On AWS, as below; on racks of your own `make power"
                    " STACK=NAME NODE=NODE WHAT=status` tells",
                    command="aws ec2 describe-instance-status --include-all-instances --filters"
                    " Name=instance-status.status,Values=impaired",
                ),
                Action(
                    say="Its pods may still run, although Kubernetes shows them as ending: have the machine"
                    " rebooted or replaced first, then see whether they started again elsewhere",
                    command="kubectl get pods -A -o wide --field-selector spec.nodeName=NODE",
                ),
            ),
            over="The node reports again, or is deleted.",
            link="https://kubernetes.io/docs/concepts/architecture/nodes/#heartbeats",
            guards=("V11", "DC05"),
        ),
        Failure(
            id="node-disk",
            alert="NodeDiskFull",
            title="A disk of a node fills up",
            signal="Free part of each local file system (node_exporter: filesystem)",
            expression="gpucluster:node:filesystem_free_ratio < $free",
            limits={
                "free": Threshold(
                    value=0.1, unit="of the file system free", source="alert rules of SageMaker HyperPod: disk > 90 %"
                )
            },
            span="5m",
            severity="warning",
            domains=("user", "system"),
            owner="platform",
            summary="{{ $labels.mountpoint }} of node {{ $labels.node }} has {{ $value | humanizePercentage"
            " }} of its room left.",
            meaning="Soon the kubelet sets DiskPressure, deletes images and evicts pods: a gang loses a rank.",
            causes=("images and logs", "a run that writes to the container's own file system", "core dumps"),
            actions=(
                _on_host("See what takes the room", "du -xh --max-depth=2 MOUNTPOINT"),
                _on_host("Remove images that nothing uses", "crictl rmi --prune"),
                _CORDON,
            ),
            over="More than a tenth is free.",
            link="https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
        ),
    ),
)
