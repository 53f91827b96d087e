# shellcheck shell=bash
# What every machine of Slurm has alike: its files, and munge, by whose one key machines believe each other's users.
# Reads GPUCLUSTER_SLURM_NAME (the machine's in slurm.conf), GPUCLUSTER_SLURM_FILES: lines `MODE OWNER UNITS PATH BASE64`,
# where UNITS, joined by commas, need a restart after a change (`-` for none).

slurm_apply() {
    local mode owner units path content directory
    needs SLURM_NAME
    needs SLURM_FILES
    # Every daemon finds itself in the files by its host's name (slurm.conf(5), NodeHostname and SlurmctldHost).
    [ "$(hostname -s)" = "$GPUCLUSTER_SLURM_NAME" ] ||
        fail "this host calls itself $(hostname -s) and slurm.conf calls it $GPUCLUSTER_SLURM_NAME: hostnamectl set-hostname $GPUCLUSTER_SLURM_NAME"
    for directory in slurm munge; do
        id -u "$directory" >/dev/null || fail "there is no user $directory: is its package installed?"
    done
    slurm_directory /var/log/slurm 755
    while read -r mode owner units path content; do
        [ -n "$mode" ] || continue
        mkdir -p "$(dirname "$path")"
        # shellcheck disable=SC2046 # words
        (umask 077 && printf '%s' "$content" | base64 -d | write_file "$path" "$mode" $(printf '%s' "${units#-}" | tr ',' ' '))
        [ "$(stat -c %U "$path")" = "$owner" ] || chown "$owner:" "$path"
    done <<<"$GPUCLUSTER_SLURM_FILES"
    slurm_runs munge.service
}

# slurm_directory PATH MODE: a directory of the user slurm.
slurm_directory() {
    mkdir -p "$1"
    [ "$(stat -c '%U %a' "$1")" != "slurm $2" ] || return 0
    if ! chown slurm: "$1" || ! chmod "$2" "$1"; then fail "$1 cannot be given to the user slurm: does its file system let root write (no_root_squash)?"; fi
    changed "$1"
}

# slurm_runs UNIT: it runs with what was written. One that cannot read its files starts, and ends at once.
slurm_runs() {
    keep_running "$1"
    restart_pending "$1"
    if [ -s "$GPUCLUSTER_RUN/changes" ]; then sleep 2; fi
    systemctl is-active --quiet "$1" || fail "$1 ended at once: journalctl -u $1"
}

# slurm_ends UNIT: it runs no more, whoever had enabled it.
slurm_ends() {
    release "$1"
    if systemctl is-active --quiet "$1"; then
        systemctl stop "$1"
        changed "$1 stopped"
    fi
}

slurm_undo() {
    local mode owner units path content
    while read -r mode owner units path content; do
        [ -n "$mode" ] || continue
        remove_file "$path" munge.service
    done <<<"${GPUCLUSTER_SLURM_FILES:-}"
    restart_running munge.service
    release munge.service
}
