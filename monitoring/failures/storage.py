"""Volumes, the shared file system, Ceph."""

from monitoring.failure import ON_HOST, Action, Failure, Subject
from monitoring.thresholds import Threshold

STORAGE = Subject(
    name="storage",
    title="Storage",
    failures=(
        Failure(
            id="shared-files-full",
            alert="SharedFilesFull",
            title="The shared file system is filling up",
            signal="Free share of the nodes' Lustre mounts (node_exporter: filesystem), since the FSx CSI driver"
            " reports no volume statistics",
            expression="gpucluster:shared_files:used_ratio > $used",
            limits={"used": Threshold(0.8, "of the file system", "alert rules of SageMaker HyperPod: FSx > 80 %")},
            span="5m",
            severity="critical",
            domains=("user",),
            owner="platform",
            summary="The shared file system {{ $labels.device }} is {{ $value | humanizePercentage }} full.",
            meaning="Lustre slows down as its OSTs fill, and one full OST fails writes while others still have"
            " space. The next checkpoint may not fit, and then its run fails.",
            causes=(
                "checkpoints that are never deleted",
                "datasets that were copied twice or are no longer used",
                "logs and caches of runs",
            ),
            actions=(
                Action(
                    "See which OSTs are full, on a node that mounts them (`lfs getstripe FILE` there shows the"
                    " OSTs of a file; an OST's own counters, obdfilter.*.stats, only its server knows, and tells with"
                    " monitoring.fileSystem)",
                    f"{ON_HOST} lfs df -h",
                ),
                Action(
                    "See how much space each run's checkpoints use",
                    "for each in $(kubectl get pods -n training -l training.kubeflow.org/replica-index=0"
                    " -o name); do echo $each; kubectl exec -n training $each -- du -sh /checkpoints;"
                    " done",
                ),
                Action(
                    "Delete checkpoints that are also in the bucket, or raise the capacity in the stack file and"
                    " preview the change",
                    "make plan STACK=NAME && pulumi preview --stack NAME",
                ),
            ),
            over="Usage is below the limit again.",
            link="https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-storage-capacity.html",
        ),
        Failure(
            id="shared-files-busy",
            alert="SharedFilesBusy",
            title="The shared file system is at its rate",
            signal="Bytes that clients read and write a second, as the file system's servers tell"
            " (monitoring.fileSystem), against the rate that the plan orders",
            expression="gpucluster:shared_files:rate_ratio > $part",
            limits={
                "part": Threshold(
                    0.9,
                    "of the planned rate",
                    "assumed: FSx gives a file system its baseline and no more, so that what comes beyond waits"
                    " (FSx for Lustre user guide, performance); on-premises servers carry what the plan counts",
                )
            },
            span="15m",
            severity="warning",
            domains=("user",),
            owner="platform",
            summary="The shared file system {{ $labels.file_system }} has carried {{ $value | humanizePercentage }}"
            " of its planned rate for 15 minutes.",
            meaning="Steps wait for their data, and saves take longer than planned. The file system is the limit, not"
            " a node.",
            causes=(
                "several runs start or save at once",
                "data is read anew in each epoch instead of being staged on the nodes",
                "a copy into or out of the file system",
            ),
            actions=(
                Action("See whether they read or write", query="gpucluster:shared_files:bytes_per_second"),
                Action(
                    "See which nodes move most",
                    query="topk(10, sum by (node) (rate(node_network_receive_bytes_total[5m])))",
                ),
                Action(
                    "Stage the data on the nodes (data.staging of a run), or raise the file system's rate in the"
                    " stack file and preview the change",
                    "make plan STACK=NAME && pulumi preview --stack NAME",
                ),
            ),
            over="The rate is below the limit again.",
            link="https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html",
            guards=("X05",),
        ),
        Failure(
            id="lustre-over-tcp",
            alert="LustreOverTcp",
            title="The Lustre client of a node speaks TCP where it should speak EFA",
            signal="Messages by LNet's networks, and EFA interfaces of LNet that are not up (`lnetctl net show -v` on"
            " the node, told by a unit of its user data)",
            expression='max by (node, pool) (gpucluster:lnet:messages_per_second{net="tcp"} > $messages)'
            ' unless on (node) (gpucluster:lnet:messages_per_second{net="efa"} >= on (node)'
            ' gpucluster:lnet:messages_per_second{net="tcp"})'
            " or max by (node, pool) (gpucluster:lnet:interfaces_missing > 0)",
            limits={
                "messages": Threshold(
                    10,
                    "messages a second",
                    "assumed: a client that does nothing asks each target every 25 seconds (Lustre manual, a quarter"
                    " of obd_timeout), two messages each time; one that reads 10 MB a second sends more",
                )
            },
            span="10m",
            severity="warning",
            domains=("system", "hardware"),
            owner="platform",
            summary="Lustre on node {{ $labels.node }} has gone over TCP, wholly or in part, for 10 minutes.",
            meaning="The client fell back without an error. One node reads at most what one TCP interface carries, a"
            " fraction of what its EFA devices do: data loaders and checkpoints of its run wait, and every other node"
            " of the run with them.",
            causes=(
                "the unit that sets the client up failed, or ended with fewer interfaces than it was asked for",
                "the file system's security group has no rule to and from itself: EFA passes only where a rule names"
                " the group",
                "an EFA device was lost after the node's start",
            ),
            actions=(
                Action(
                    "See which interfaces of LNet are up, and what they have carried",
                    f"{ON_HOST} lnetctl net show -v",
                ),
                Action("Read what the set-up said", f"{ON_HOST} journalctl -u gpucluster-lustre-efa -n 50 --no-pager"),
                Action(
                    "See whether it is one node or all of them: of all, look at the security group, else replace the"
                    " node when its run has saved",
                    query='gpucluster:lnet:messages_per_second{net="tcp"}',
                ),
            ),
            over="Every interface is up, and more goes over EFA than over TCP.",
            link="https://docs.aws.amazon.com/fsx/latest/LustreGuide/efa-file-systems.html",
            guards=("G05",),
        ),
        Failure(
            id="volume-full",
            alert="VolumeFull",
            title="A volume is filling up",
            signal="Used share of each claim (kubelet volume statistics)",
            expression='gpucluster:volume:used_ratio{namespace!="monitoring"} > $used',
            limits={"used": Threshold(0.9, "of the volume", "alert rules of SageMaker HyperPod: disk > 90 %")},
            span="5m",
            severity="warning",
            domains=("user",),
            owner="platform",
            summary="Volume {{ $labels.namespace }}/{{ $labels.persistentvolumeclaim }} is {{ $value |"
            " humanizePercentage }} full.",
            meaning="Once it is full, writes fail with `No space left on device`.",
            causes=("the volume is too small", "old data is not deleted"),
            actions=(
                Action("See which pod uses the claim", "kubectl describe pvc -n NAMESPACE CLAIM"),
                Action("See what uses the space", "kubectl exec -n NAMESPACE POD -- df -h"),
                Action(
                    "Enlarge it in the stack file, and preview the change",
                    "make plan STACK=NAME && pulumi preview --stack NAME",
                ),
            ),
            over="Usage is below the limit again.",
            link="https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims",
        ),
        Failure(
            id="database-uncopied",
            alert="DatabaseUncopied",
            title="A database was not copied when it was due",
            signal="CronJobs of copies whose last start was followed by no success (kube-state-metrics)",
            expression="gpucluster:database:copies_due > 0",
            span="1h",
            severity="warning",
            domains=("system",),
            owner="platform",
            summary="The copy {{ $labels.namespace }}/{{ $labels.cronjob }} was due an hour ago and is not in the"
            " bucket.",
            meaning="The database works. If its volume is lost now, it comes back as it was at the copy before.",
            causes=(
                "the database does not answer, or its password is another one since its volume was filled",
                "the account may not write to the bucket, or nothing reaches it",
                "no node has room for the pod",
            ),
            actions=(
                Action("See which try failed", "kubectl get jobs,pods -n NAMESPACE"),
                Action(
                    "Read what the database's program said, and what the object store did",
                    "kubectl logs -n NAMESPACE POD --all-containers",
                ),
                Action(
                    "Copy it now, when that is mended",
                    "kubectl create job -n NAMESPACE copy-now --from=cronjob/CRONJOB",
                ),
            ),
            over="A copy has succeeded since.",
            link="https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/",
        ),
        Failure(
            id="ceph-slow",
            alert="CephSlow",
            title="Ceph is slow",
            signal="Mean latency of the OSDs' operations, as sum over count (Ceph's manager module)",
            expression="gpucluster:ceph:operation_latency_seconds > $seconds",
            limits={
                "seconds": Threshold(
                    0.005,
                    "seconds an operation",
                    "004:L79 (5 ms), for NVMe; as ST16 corrects it: of operations, over 5 minutes, and for 10",
                )
            },
            span="10m",
            severity="warning",
            domains=("system", "hardware"),
            owner="platform",
            summary="Ceph has taken {{ $value | humanizeDuration }} per {{ $labels.operation }} for 10 minutes.",
            meaning="Data loaders wait longer for each file, and checkpoints take longer than planned. One slow disk"
            " is enough: every write waits for its slowest replica.",
            causes=("a failing disk", "recovery or scrubbing under load", "errors on its network"),
            actions=(
                Action(
                    "Read Ceph's health report",
                    "kubectl exec -n rook-ceph deploy/rook-ceph-tools -- ceph health detail",
                ),
                Action("Find the slow disk", "kubectl exec -n rook-ceph deploy/rook-ceph-tools -- ceph osd perf"),
                Action(
                    "Mark it out, and let Ceph rebuild its replicas elsewhere",
                    "kubectl exec -n rook-ceph deploy/rook-ceph-tools -- ceph osd out ID",
                ),
            ),
            over="It is below the limit again.",
            link="https://docs.ceph.com/en/latest/rados/troubleshooting/troubleshooting-osd/",
            guards=("X02", "ST16", "ST17"),
        ),
    ),
)
