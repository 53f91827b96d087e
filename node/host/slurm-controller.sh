# shellcheck shell=bash
# A controller of Slurm. Two of them go on with one state, on the shared files; the first one in slurm.conf makes accounts.
# Reads GPUCLUSTER_SLURM_STATE (StateSaveLocation) and GPUCLUSTER_SLURM_OPEN (words: directories in which every user's
# jobs make their own; none on the second controller). The file accounts.sh marks `accounts` when it changes.

slurm_controller_apply() {
    local directory
    needs SLURM_STATE
    needs SLURM_OPEN
    slurm_directory "$GPUCLUSTER_SLURM_STATE" 700
    for directory in $GPUCLUSTER_SLURM_OPEN; do
        [ ! -e "$directory" ] || continue
        if ! mkdir -p "$directory" || ! chmod 1777 "$directory"; then fail "$directory cannot be made: does its file system let root write (no_root_squash)?"; fi
        changed "$directory"
    done
    slurm_runs slurmctld.service
    [ -e "$GPUCLUSTER_PENDING/accounts" ] || return 0
    slurm_controller_answers
    bash /etc/slurm/accounts.sh || fail "/etc/slurm/accounts.sh ended: see the log"
    rm -f "$GPUCLUSTER_PENDING/accounts"
    changed "accounts"
}

slurm_controller_answers() {
    local try
    for try in $(seq 30); do
        if scontrol ping | grep -q '(primary).*is UP'; then return 0; fi
        [ "$try" = 30 ] || sleep 2
    done
    fail "slurmctld does not answer: journalctl -u slurmctld, /var/log/slurm/slurmctld.log"
}

# The state stays: jobs that wait and run are in it.
slurm_controller_undo() {
    slurm_ends slurmctld.service
}
