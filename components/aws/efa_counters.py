"""EFA's counters, which the node exporter does not read: it takes them for those of InfiniBand, and finds none.

The driver keeps them in hw_counters only (linux, drivers/infiniband/hw/efa/efa_verbs.c), where node_exporter 1.12 looks
for names that EFA does not have (pull request 3670, open). Metrics are called as by the exporter that AWS publishes
(awslabs/awsome-distributed-ai, 4.validation_and_observability/3.efa-node-exporter).
"""

from components.aws.node_scripts import LNET_FILES
from components.monitoring.counters import NodeCounters

SCRIPT = """for device in /sys/class/infiniband/*; do
  [ "$(basename "$(readlink -f "$device/device/driver")")" = efa ] || continue
  for file in "$device"/ports/*/hw_counters/*; do
    port=${file#"$device"/ports/}
    printf 'node_amazonefa_%s{device="%s",port="%s"} %s\\n' \\
      "${file##*/}" "${device##*/}" "${port%%/*}" "$(cat "$file")"
  done
done"""


def efa_counters(image: str, *, lustre: bool = False) -> NodeCounters:
    """What reads them, in an image with a shell. Nodes without EFA give an empty file. With `lustre` what LNet carries
    by EFA and by TCP goes with them, which `node/lustre/counters.sh` leaves on the node: the kernel's client asks for
    rights that this container does not have.
    """
    return NodeCounters(name="efa", image=image, script=SCRIPT, host_files=LNET_FILES if lustre else None)
