#!/bin/bash
# Slurm's Epilog, as root after a job's last process. The job is over in any case; a node that is not sound is drained.
set -uo pipefail
# shellcheck source=checks.sh
. "$(dirname "$0")/checks.sh"

# What the job had on the machine's own disks.
if [[ ${SCRATCH:-} == /* && ${SLURM_JOB_ID:-} =~ ^[0-9]+$ ]]; then
  rm -rf -- "${SCRATCH:?}/$SLURM_JOB_ID"
fi

# A process that is left on the job's GPUs would take the next job's memory.
nothing_is_left() {
  local left
  [ -n "${SLURM_JOB_GPUS:-}" ] || return 0
  left=$(timeout 60 nvidia-smi -i "$SLURM_JOB_GPUS" --query-compute-apps=pid --format=csv,noheader 2>/dev/null)
  [ -z "$left" ] && return 0
  echo "processes are left on GPUs after job $SLURM_JOB_ID: $(paste -sd ' ' <<<"$left")"
  return 1
}

if ! reason=$(ask nothing_is_left gpus_are_there memory_is_sound driver_is_quiet dcgm_is_content links_are_up); then
  logger -t gpucluster-epilog "job ${SLURM_JOB_ID:-?}: $reason"
  # DRAIN lets other jobs of the node end; DOWN would kill them.
  scontrol update nodename="${SLURMD_NODENAME:-$(hostname -s)}" state=drain reason="$reason"
fi
