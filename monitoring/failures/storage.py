"""Volumes, the shared file system, Ceph."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

STORAGE = Subject(
    name="storage",
    title="Storage",
    failures=(
        Failure(
            id="shared-files-full",
            alert="SharedFilesFull",
            title="The shared file system fills up",
            signal="Free part of the nodes' Lustre mounts (node_exporter: filesystem), as the FSx CSI driver reports"
            " no volume statistics",
            expression="gpucluster:shared_files:used_ratio > $used",
            limits={
                "used": Threshold(
                    value=0.8, unit="of the file system", source="alert rules of SageMaker HyperPod: FSx > 80 %"
                )
            },
            span="5m",
            severity="critical",
            domains=("user",),
            owner="platform",
            summary="The shared file system {{ $labels.device }} is {{ $value | humanizePercentage }} full.",
            meaning="Lustre slows down as its targets fill, and one full target fails writes while others"
            " have room. The next checkpoint may be the one that does not fit.",
            causes=(
                "checkpoints that nothing deletes",
                "datasets copied twice, or old ones that nobody deleted",
                "logs and caches of runs",
            ),
            actions=(
                Action(
                    say="See which targets are full, on a node that mounts them (there `lfs getstripe FILE` tells on"
                    " which of them a file lies; what a target counts, obdfilter.*.stats, only its server knows)",
                    command="kubectl debug node/NODE -it --image=busybox --profile=sysadmin -- chroot /host lfs df -h",
                ),
                Action(
                    say="See how much each run keeps in its own directory of checkpoints",
                    command="for each in $(kubectl get pods -n training -l training.kubeflow.org/replica-index=0"
                    " -o name); do echo $each; kubectl exec -n training $each -- du -sh /checkpoints;"
                    " done",
                ),
                Action(
                    say="Delete checkpoints that the bucket has as well, or raise the capacity in the stack"
                    " file and look at the change",
                    command="make plan STACK=NAME && pulumi preview --stack NAME",
                ),
            ),
            over="Less than the limit is used.",
            link="https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-storage-capacity.html",
        ),
        Failure(
            id="volume-full",
            alert="VolumeFull",
            title="A volume fills up",
            signal="Used part of each claim (kubelet volume statistics)",
            expression='gpucluster:volume:used_ratio{namespace!="monitoring"} > $used',
            limits={
                "used": Threshold(
                    value=0.9, unit="of the volume", source="alert rules of SageMaker HyperPod: disk > 90 %"
                )
            },
            span="5m",
            severity="warning",
            domains=("user",),
            owner="platform",
            summary="Volume {{ $labels.persistentvolumeclaim }} of {{ $labels.namespace }} is {{ $value |"
            " humanizePercentage }} full.",
            meaning="What writes there will fail with `No space left on device`.",
            causes=("it was planned too small", "something keeps what it should delete"),
            actions=(
                Action(say="See which pod uses the claim", command="kubectl describe pvc -n NAMESPACE CLAIM"),
                Action(say="See what takes the room", command="kubectl exec -n NAMESPACE POD -- df -h"),
                Action(
                    say="Make it larger in the stack file, and look at the change",
                    command="make plan STACK=NAME && pulumi preview --stack NAME",
                ),
            ),
            over="Less than the limit is used.",
            link="https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims",
        ),
        Failure(
            id="ceph-slow",
            alert="CephSlow",
            title="Ceph answers slowly",
            signal="Time of an operation of the OSDs, as sum over count (Ceph's manager module)",
            expression="gpucluster:ceph:operation_latency_seconds > $seconds",
            limits={
                "seconds": Threshold(
                    value=0.005,
                    unit="seconds an operation",
                    source="004:L79 (5 ms), for NVMe; as ST16 corrects it: of operations, over 5 minutes, and for 10",
                )
            },
            span="10m",
            severity="warning",
            domains=("system", "hardware"),
            owner="platform",
            summary="Ceph takes {{ $value | humanizeDuration }} for a {{ $labels.operation }}.",
            meaning="Data loaders wait longer for each file, and a checkpoint takes longer than planned. A"
            " single slow disk is enough: every write waits for its slowest copy.",
            causes=("a disk that fails", "recovery or scrubbing beside the load", "its network has errors"),
            actions=(
                Action(
                    say="See what Ceph says of itself",
                    command="kubectl exec -n rook-ceph deploy/rook-ceph-tools -- ceph health detail",
                ),
                Action(
                    say="Find the slow disk",
                    command="kubectl exec -n rook-ceph deploy/rook-ceph-tools -- ceph osd perf",
                ),
                Action(
                    say="Take it out, and let Ceph make new copies",
                    command="kubectl exec -n rook-ceph deploy/rook-ceph-tools -- ceph osd out ID",
                ),
            ),
            over="Below the limit at one evaluation.",
            link="https://docs.ceph.com/en/latest/rados/troubleshooting/troubleshooting-osd/",
            guards=("X02", "ST16", "ST17"),
        ),
    ),
)
