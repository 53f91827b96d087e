#!/bin/bash
# Slurm's Prolog, as root before a job's first process. Failing drains the node and brings the job back to its queue.
set -uo pipefail
# shellcheck source=checks.sh
. "$(dirname "$0")/checks.sh"

if ! reason=$(ask gpus_are_there links_are_up files_are_mounted); then
  logger -t gpucluster-prolog "job ${SLURM_JOB_ID:-?}: $reason"
  echo "$reason" >&2
  exit 1
fi
