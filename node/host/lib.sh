# shellcheck shell=bash
# What every concern uses. A bundle is: variables, this file, the concerns' files, one call of `run_concerns`.
#
# The bundle comes over standard input, so nothing runs before its last line has arrived: a connection that is cut while
# it is sent changes nothing. A run that is cut later leaves whole files only, and units that still need a restart are
# marked in $GPUCLUSTER_PENDING, so that the next run ends what this one began.

# A user who comes by sudo may have a PATH without the administrator's tools.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
GPUCLUSTER_ACTION=${GPUCLUSTER_ACTION:-apply}
GPUCLUSTER_STATE=/var/lib/gpucluster
GPUCLUSTER_RUN=/run/gpucluster
GPUCLUSTER_PENDING=$GPUCLUSTER_RUN/pending
GPUCLUSTER_LOG=/var/log/gpucluster.log

# fail SENTENCE: ends the concern; the sentence is its result.
fail() {
    printf '%s' "$*" >"$GPUCLUSTER_RUN/failure"
    exit 1
}

# changed WHAT: adds to the concern's result.
changed() {
    printf '%s\n' "$*" >>"$GPUCLUSTER_RUN/changes"
}

# needs NAME: fails unless the variable GPUCLUSTER_NAME is set.
needs() {
    local name="GPUCLUSTER_$1"
    [ -n "${!name+set}" ] || fail "the bundle does not set $name"
}

# write_file PATH MODE [UNIT...]: makes PATH hold standard input, and marks units that then need a restart.
# What was there before is kept once, for `remove_file`.
write_file() {
    local path=$1 mode=$2 unit kept
    shift 2
    local fresh="$path.gpucluster-new"
    mkdir -p "${path%/*}"
    if ! cat >"$fresh" || ! chmod "$mode" "$fresh"; then
        rm -f "$fresh"
        fail "$path cannot be written: is the disk full?"
    fi
    if [ -f "$path" ] && cmp -s "$fresh" "$path" && [ "$(stat -c %a "$path")" = "$mode" ]; then
        rm -f "$fresh"
        return 0
    fi
    for unit in "$@"; do mark_pending "$unit"; done
    kept=$GPUCLUSTER_STATE/originals$path
    if [ ! -e "$kept" ] && [ ! -e "$kept.absent" ]; then
        mkdir -p "${kept%/*}"
        if [ -e "$path" ]; then cp -a "$path" "$kept.copying" && mv "$kept.copying" "$kept"; else : >"$kept.absent"; fi
    fi
    mv "$fresh" "$path"
    changed "$path"
}

# remove_file PATH [UNIT...]: puts back what was at PATH before `write_file`, or removes it if nothing was.
remove_file() {
    local path=$1 unit kept
    shift
    kept=$GPUCLUSTER_STATE/originals$path
    if [ -e "$kept" ]; then
        for unit in "$@"; do mark_pending "$unit"; done
        mv "$kept" "$path"
    elif [ -e "$kept.absent" ]; then
        for unit in "$@"; do mark_pending "$unit"; done
        rm -f "$path" "$kept.absent"
    else
        return 0
    fi
    changed "$path"
}

# mark_pending UNIT: the unit does not run yet with what was written.
mark_pending() {
    mkdir -p "$GPUCLUSTER_PENDING"
    : >"$GPUCLUSTER_PENDING/$1"
}

# restart_pending UNIT: restarts the unit if it is marked, and only then takes the mark away.
restart_pending() {
    [ -e "$GPUCLUSTER_PENDING/$1" ] || return 0
    systemctl daemon-reload
    systemctl restart "$1" || fail "$1 does not start with its new configuration: journalctl -u $1"
    rm -f "$GPUCLUSTER_PENDING/$1"
    changed "$1 restarted"
}

# restart_running UNIT: as `restart_pending`, and a unit that does not run is left so.
restart_running() {
    [ ! -e "$GPUCLUSTER_PENDING/$1" ] || ! systemctl is-active --quiet "$1" || restart_pending "$1"
}

# keep_running UNIT: the unit runs now and after a reboot.
keep_running() {
    local state started=no
    state=$'\n'$(systemctl show -p ActiveState -p UnitFileState "$1")$'\n'
    if [[ $state != *$'\nUnitFileState=enabled\n'* ]]; then
        if systemctl enable --now "$1"; then
            started=yes
        else
            systemctl is-enabled --quiet "$1" || fail "$1 cannot be enabled: is its package installed?"
        fi
        printf '%s\n' "$1" >>"$GPUCLUSTER_STATE/enabled"
        changed "$1 enabled"
    fi
    if [[ $state != *$'\nActiveState=active\n'* ]]; then
        [ "$started" = yes ] || systemctl start "$1" || fail "$1 does not start: journalctl -u $1"
        rm -f "$GPUCLUSTER_PENDING/$1"
        changed "$1 started"
    fi
}

# release UNIT: undoes `keep_running` where it enabled the unit.
release() {
    grep -qxF "$1" "$GPUCLUSTER_STATE/enabled" 2>/dev/null || return 0
    systemctl disable --now "$1"
    sed -i "\\|^$1\$|d" "$GPUCLUSTER_STATE/enabled"
    changed "$1 disabled"
}

# serial: the serial number that the machine's firmware gives.
serial() {
    tr -d '[:space:]' </sys/class/dmi/id/product_serial
}

# format_allowed: whether the stack file names this very machine among those whose drives may lose what is on them.
format_allowed() {
    case " $GPUCLUSTER_ALLOW_FORMAT " in *" $(serial) "*) return 0 ;; *) return 1 ;; esac
}

# drive_unused DEVICE PURPOSE: fails if it is mounted, or part of something.
drive_unused() {
    local type at used='' part=''
    while read -r type at; do
        used=${used:-$at}
        [ "$type" = disk ] || part=${part:-$type}
    done < <(lsblk -n -r -o TYPE,MOUNTPOINTS "$1")
    [ -z "$used" ] || fail "$1 is in use, mounted at $used: it is no $2, take it off the list"
    [ -z "$part" ] || fail "$1 is in use as part of something ($part): take it apart by hand, or take the drive off the list"
}

# drive_may_be_formatted DEVICE WHAT: fails unless that is allowed, with what would be lost.
drive_may_be_formatted() {
    local content
    format_allowed && return 0
    content=$(wipefs --noheadings --output TYPE "$1" | head -n 1)
    fail "$1 ${content:+carries $content and }would $2: allow it with allowFormat and this host's serial, $(serial)"
}

# at_least HAVE WANT: whether one version is not older than another.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# given_files LINES [UNIT...]: writes the files of lines `MODE PATH BASE64`, and marks units that then need a restart.
given_files() {
    local mode path content lines=$1
    shift
    while read -r mode path content; do
        [ -n "$mode" ] || continue
        printf '%s' "$content" | base64 -d | write_file "$path" "$mode" "$@"
    done <<<"$lines"
}

# kubeadm_or_fail WORD...: runs kubeadm; where it fails, what it says is wrong is the result.
kubeadm_or_fail() {
    local said=$GPUCLUSTER_RUN/kubeadm why
    if kubeadm "$@" 2>"$said"; then
        cat "$said" >&2
        rm -f "$said"
        return 0
    fi
    cat "$said" >&2
    why=$(grep -E '\[ERROR|^error' "$said" | grep -v 'fatal errors occurred' | tr -s '[:space:]' ' ' | cut -c 1-400)
    fail "kubeadm $1 ended: ${why:-$(tail -n 1 "$said")}"
}

# leave_cluster: takes a host out of its cluster, and only where the stack file names its serial.
leave_cluster() {
    [ -e /etc/kubernetes/kubelet.conf ] || return 0
    case " ${GPUCLUSTER_ALLOW_RESET:-} " in
    *" $(serial) "*) ;;
    *) return 0 ;;
    esac
    kubeadm reset --force || fail "kubeadm reset ended: see the log"
    changed "left the cluster"
}

# one_run: nobody else prepares this host at the same time; one whose connection was cut still ends its concern.
one_run() {
    mkdir -p "$GPUCLUSTER_RUN" "$GPUCLUSTER_STATE" 2>/dev/null
    chmod 700 "$GPUCLUSTER_RUN" "$GPUCLUSTER_STATE"
    exec 9>"$GPUCLUSTER_RUN/lock"
    flock -w "${GPUCLUSTER_LOCK_SECONDS:-120}" 9
}

# superseded: whether what is to be undone was replaced since by another bundle, which holds the host now.
superseded() {
    [ "$GPUCLUSTER_ACTION" = undo ] && [ -n "${GPUCLUSTER_GENERATION:-}" ] &&
        [ -e "$GPUCLUSTER_STATE/generation" ] &&
        [ "$(cat "$GPUCLUSTER_STATE/generation")" != "$GPUCLUSTER_GENERATION" ]
}

# run_concern NAME: does it in a shell of its own and prints its line. Returns 1 if it failed.
run_concern() {
    local name=$1 words line
    rm -f "$GPUCLUSTER_RUN/failure" "$GPUCLUSTER_RUN/trapped" "$GPUCLUSTER_RUN/changes"
    (
        set -eEuo pipefail
        trap 'printf "%s" "line $LINENO: $BASH_COMMAND ended with status $?" >"$GPUCLUSTER_RUN/trapped"' ERR
        "${name//-/_}_$GPUCLUSTER_ACTION"
    ) </dev/null >>"$GPUCLUSTER_LOG" 2>&1 9>&-
    # Not with `||` behind it: bash would then ignore `set -e` inside.
    line=$?
    if [ "$line" != 0 ]; then
        words=$(cat "$GPUCLUSTER_RUN/failure" 2>/dev/null || cat "$GPUCLUSTER_RUN/trapped" 2>/dev/null)
        printf '%s: failed: %s (log: %s)\n' "$name" "${words:-it ended with status $line}" "$GPUCLUSTER_LOG"
        return 1
    fi
    if [ -s "$GPUCLUSTER_RUN/changes" ]; then
        printf '%s: changed: %s\n' "$name" "$(paste -sd, "$GPUCLUSTER_RUN/changes" | sed 's/,/, /g')"
    else
        printf '%s: ok\n' "$name"
    fi
}

# run_concerns NAME...: all of them, in this order to apply and backwards to undo; ends at the first that fails.
run_concerns() {
    local name status names=("$@")
    if [ "$(id -u)" != 0 ]; then
        printf '%s: failed: this needs root, and %s is not: use sudo\n' "$1" "$(id -un)"
        return 1
    fi
    if ! one_run; then
        printf '%s: failed: another run prepares this host now: wait for it, then run this again\n' "$1"
        return 1
    fi
    if [ "$GPUCLUSTER_ACTION" = undo ]; then
        names=()
        for name in "$@"; do names=("$name" "${names[@]}"); done
    fi
    if superseded; then
        for name in "${names[@]}"; do printf '%s: ok\n' "$name"; done
        return 0
    fi
    if [ "$GPUCLUSTER_ACTION" = apply ] && [ -n "${GPUCLUSTER_GENERATION:-}" ] &&
        ! printf '%s\n' "$GPUCLUSTER_GENERATION" 2>/dev/null >"$GPUCLUSTER_STATE/generation"; then
        printf '%s: failed: %s cannot be written: is the disk full?\n' "$1" "$GPUCLUSTER_STATE"
        return 1
    fi
    for name in "${names[@]}"; do
        run_concern "$name"
        status=$?
        [ "$status" = 0 ] || return 1
    done
    if [ "$GPUCLUSTER_ACTION" = undo ]; then rm -rf "$GPUCLUSTER_STATE" "$GPUCLUSTER_RUN"; fi
}
