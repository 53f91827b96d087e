#!/bin/bash
# Slurm's HealthCheckProgram, as root on idle nodes: drains a node that is not sound, and takes none back.
set -uo pipefail
# shellcheck source=checks.sh
. "$(dirname "$0")/checks.sh"

if ! reason=$(ask gpus_are_there memory_is_sound driver_is_quiet dcgm_is_content links_are_up files_are_mounted); then
  logger -t gpucluster-health "$reason"
  scontrol update nodename="${SLURMD_NODENAME:-$(hostname -s)}" state=drain reason="$reason"
fi
