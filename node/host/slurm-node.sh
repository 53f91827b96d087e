# shellcheck shell=bash
# A machine that runs Slurm's jobs. Reads GPUCLUSTER_SLURM_SCRATCH (a directory of its own disks).

slurm_node_apply() {
    needs SLURM_SCRATCH
    [ ! -e /etc/kubernetes/kubelet.conf ] ||
        fail "this host is a node of Kubernetes, which would give its GPUs to pods as well: drain it and run kubeadm reset first (docs/how-to/slurm.md)"
    mkdir -p /var/spool/slurmd "$GPUCLUSTER_SLURM_SCRATCH"
    if [ "$(stat -c %a "$GPUCLUSTER_SLURM_SCRATCH")" != 1777 ]; then
        chmod 1777 "$GPUCLUSTER_SLURM_SCRATCH"
        changed "$GPUCLUSTER_SLURM_SCRATCH"
    fi
    slurm_runs slurmd.service
}

slurm_node_undo() {
    slurm_ends slurmd.service
}
