# shellcheck shell=bash
# Targets of Lustre on ZFS: each a pool of the drives that are named for it, formatted once and mounted at each boot.
# Reads GPUCLUSTER_LUSTRE_RELEASE (what modinfo says of the modules), _LUSTRE_FSNAME, _LUSTRE_MGS and _LUSTRE_SERVICE (words: the
# NIDs of a machine, joined by commas), _LUSTRE_TARGETS and _LUSTRE_STANDBY (lines KIND INDEX VDEV..., as zpool create takes
# them), and GPUCLUSTER_ALLOW_FORMAT (serials).
#
# Nothing is formatted unless GPUCLUSTER_ALLOW_FORMAT names the serial of this very machine. A target that is there stays, and
# keeps its number; a drive that is mounted, holds partitions or is of another pool is never touched. Every target is
# looked at before the first one is made. Those of _LUSTRE_STANDBY are the partner's: their units lie here, and nobody starts
# them but a person (docs/how-to/metal.md).

LUSTRE_SERVER_ROOT=/srv/lustre
declare -A LUSTRE_SERVER_STATE

lustre_server_apply() {
    local name
    for name in LUSTRE_RELEASE LUSTRE_FSNAME LUSTRE_MGS LUSTRE_SERVICE LUSTRE_TARGETS LUSTRE_STANDBY ALLOW_FORMAT; do
        needs "$name"
    done
    lustre_server_kernel
    # A pool knows which machine has it by this number.
    if [ ! -e /etc/hostid ]; then
        zgenhostid
        changed /etc/hostid
    fi
    lustre_server_each lustre_server_look "$GPUCLUSTER_LUSTRE_TARGETS"
    lustre_server_each lustre_server_make "$GPUCLUSTER_LUSTRE_TARGETS"
    lustre_server_each lustre_server_units "$GPUCLUSTER_LUSTRE_TARGETS"
    lustre_server_each lustre_server_units "$GPUCLUSTER_LUSTRE_STANDBY"
    lustre_server_each lustre_server_serve "$GPUCLUSTER_LUSTRE_TARGETS"
}

# lustre_server_kernel: modules of the release, for the kernel that runs.
lustre_server_kernel() {
    local have
    have=$(modinfo -F version lustre) ||
        fail "there is no Lustre for the kernel $(uname -r): dkms status says what was built for which"
    [ "$have" = "$GPUCLUSTER_LUSTRE_RELEASE" ] ||
        fail "Lustre for the kernel $(uname -r) is $have, and the plan's is $GPUCLUSTER_LUSTRE_RELEASE: build its packages for this kernel"
    modprobe -a zfs lustre || fail "zfs and lustre cannot be loaded into the kernel $(uname -r): see the log"
}

# lustre_server_each FUNCTION LINES: FUNCTION KIND INDEX VDEV... for each line.
lustre_server_each() {
    local target
    while read -r target; do
        # shellcheck disable=SC2086 # words
        [ -z "$target" ] || "$1" $target
    done <<<"$2"
}

# lustre_server_pool KIND INDEX: its pool, such as ost000a-shared; the number is written as Lustre does.
lustre_server_pool() {
    printf '%s%04x-%s' "$1" "$2" "$GPUCLUSTER_LUSTRE_FSNAME"
}

# lustre_server_parts KIND INDEX: the targets in the pool, in the order in which they start: the first MDT brings the MGS.
lustre_server_parts() {
    [ "$1$2" != mdt0 ] || printf 'mgt\n'
    printf '%s%04x\n' "$1" "$2"
}

lustre_server_paired() {
    [ "$(printf '%s\n' "$GPUCLUSTER_LUSTRE_SERVICE" | wc -w)" -gt 1 ]
}

# lustre_server_import POOL DEVICE...: the command that takes a pool. It is forced where two machines reach its drives: the
# pool's own heartbeat (multihost) then decides whether the other one is alive.
lustre_server_import() {
    local pool=$1 directories
    shift
    directories=$(for device in "$@"; do dirname "$device"; done | sort -u | sed 's/^/-d /' | paste -sd ' ')
    printf '/usr/sbin/zpool import %s-N -o cachefile=none %s %s' "$(lustre_server_paired && printf -- '-f ')" "$directories" "$pool"
}

# lustre_server_look KIND INDEX VDEV...: whether its pool is here, with the partner, or still to be made, and may be.
lustre_server_look() {
    local pool device taking said devices=()
    pool=$(lustre_server_pool "$1" "$2")
    for device in "${@:3}"; do
        case "$device" in /*) devices+=("$device") ;; *) continue ;; esac
        [ -e "$device" ] || fail "there is no drive $device: has it failed, or is its name that of another server?"
    done
    LUSTRE_SERVER_STATE[$pool]=here
    taking=$(lustre_server_import "$pool" "${devices[@]}")
    if ! zpool list -H -o name "$pool" && ! said=$($taking 2>&1); then
        case "$said" in
        *"no such pool available"*) LUSTRE_SERVER_STATE[$pool]=none ;;
        *"pool is imported on"*)
            lustre_server_paired || fail "$pool is in use by another machine: $said"
            LUSTRE_SERVER_STATE[$pool]=partner
            ;;
        *) fail "$pool is there and cannot be taken: $(printf '%s' "$said" | paste -sd ' ')" ;;
        esac
    fi
    case "${LUSTRE_SERVER_STATE[$pool]}" in
    none) for device in "${devices[@]}"; do lustre_server_free "$device" "$pool"; done ;;
    here) lustre_server_known "$pool" "$1" "$2" ;;
    esac
}

# lustre_server_free DEVICE POOL: nobody uses it, and what may be lost on it may be lost by the stack file's word.
lustre_server_free() {
    local used
    used=$(lsblk -n -r -o FSTYPE,LABEL "$1" | sed -n 's/^zfs_member //p' | head -n 1)
    [ -z "$used" ] || fail "$1 is of the pool $used, and the plan has $2 there: a target keeps its number and its drives, so write them as they were"
    drive_unused "$1" "drive for Lustre"
    drive_may_be_formatted "$1" "be formatted for $2"
}

# lustre_server_label DATASET NAME: a line of its label, nothing where it has none.
lustre_server_label() {
    tunefs.lustre --dryrun "$1" 2>/dev/null | sed -n "s/^$2: *//p" | head -n 1 || true
}

# lustre_server_known POOL KIND INDEX: what is in the pool is what the plan says, or not formatted yet.
lustre_server_known() {
    local part label mgs
    for part in $(lustre_server_parts "$2" "$3"); do
        label=$(lustre_server_label "$1/$part" 'Target')
        if [ -z "$label" ]; then
            format_allowed || fail "$1/$part is not formatted: allow it with allowFormat and this host's serial, $(serial)"
            continue
        fi
        [ "$part" != mgt ] || continue
        label="$(lustre_server_label "$1/$part" 'Lustre FS') $(lustre_server_label "$1/$part" Index)"
        [ "$label" = "$GPUCLUSTER_LUSTRE_FSNAME $3" ] ||
            fail "$1/$part is number ${label#* } of ${label% *}, and the plan says $3 of $GPUCLUSTER_LUSTRE_FSNAME: a target keeps its number"
        mgs=$(lustre_server_label "$1/$part" Parameters | tr ' ' '\n' | sed -n 's/^mgsnode=//p' | head -n 1)
        [ "$mgs" = "${GPUCLUSTER_LUSTRE_MGS// /:}" ] ||
            fail "$1/$part looks for its MGS at $mgs, and the plan says ${GPUCLUSTER_LUSTRE_MGS// /:}: unmount the whole file system and write it anew (Lustre manual, Changing a Server NID), or take the address back"
    done
}

# lustre_server_make KIND INDEX VDEV...: the pool, and the targets in it that are not formatted.
lustre_server_make() {
    local pool part device options=(-o ashift=12 -o cachefile=none -O canmount=off)
    pool=$(lustre_server_pool "$1" "$2")
    [ "${LUSTRE_SERVER_STATE[$pool]}" != partner ] || return 0
    if [ "${LUSTRE_SERVER_STATE[$pool]}" = none ]; then
        if lustre_server_paired; then options+=(-o multihost=on); fi
        # As long as the RPCs of clients are (Lustre manual, "ZFS OSD Tunables").
        if [ "$1" = ost ]; then options+=(-O recordsize=1M); fi
        for device in "${@:3}"; do
            case "$device" in /*) wipefs --all --quiet "$device" || fail "wipefs cannot clear $device: see the log" ;; esac
        done
        zpool create "${options[@]}" "$pool" "${@:3}" || fail "zpool cannot make $pool: see the log"
        changed "$pool made"
    fi
    for part in $(lustre_server_parts "$1" "$2"); do
        [ -z "$(lustre_server_label "$pool/$part" Target)" ] || continue
        lustre_server_format "$pool/$part" "$1" "$2"
        changed "$pool/$part formatted"
    done
    # Its unit takes it from here, as it does after a boot.
    if ! systemctl is-active --quiet "gpucluster-zpool-$pool.service"; then zpool export "$pool"; fi
}

# lustre_server_format DATASET KIND INDEX
lustre_server_format() {
    local nids words=(--backfstype=zfs --quiet)
    if lustre_server_paired; then
        for nids in $GPUCLUSTER_LUSTRE_SERVICE; do words+=("--servicenode=$nids"); done
    fi
    case "$1" in
    */mgt) words+=(--mgs) ;;
    *)
        words+=("--$2" "--fsname=$GPUCLUSTER_LUSTRE_FSNAME" "--index=$3")
        for nids in $GPUCLUSTER_LUSTRE_MGS; do words+=("--mgsnode=$nids"); done
        ;;
    esac
    mkfs.lustre "${words[@]}" "$1" || fail "mkfs.lustre cannot format $1: see the log"
}

lustre_server_unit() {
    systemd-escape --path --suffix=mount "$LUSTRE_SERVER_ROOT/$1"
}

# lustre_server_units KIND INDEX VDEV...: the pool's unit and its targets' mounts.
lustre_server_units() {
    local pool own part device before devices=()
    pool=$(lustre_server_pool "$1" "$2")
    own="gpucluster-zpool-$pool.service"
    before=$own
    for device in "${@:3}"; do case "$device" in /*) devices+=("$device") ;; esac; done
    lustre_server_pool_unit "$pool" "${devices[@]}" | write_file "/etc/systemd/system/$own" 644 "$own"
    for part in $(lustre_server_parts "$1" "$2"); do
        mkdir -p "$LUSTRE_SERVER_ROOT/$part"
        lustre_server_mount "$pool" "$part" "$before" | write_file "/etc/systemd/system/$(lustre_server_unit "$part")" 644 "$own"
        before=$(lustre_server_unit "$part")
    done
    # What is mounted stays so with what it was mounted by: clients wait for it.
    if [ -e "$GPUCLUSTER_PENDING/$own" ]; then
        systemctl daemon-reload
        rm -f "$GPUCLUSTER_PENDING/$own"
    fi
}

lustre_server_pool_unit() {
    printf '[Unit]\nDescription=ZFS pool %s (gpucluster)\nAfter=systemd-udev-settle.service\n\n' "$1"
    printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=%s\nExecStop=/usr/sbin/zpool export %s\n\n' "$(lustre_server_import "$@")" "$1"
    printf '[Install]\nWantedBy=multi-user.target\n'
}

# lustre_server_mount POOL PART BEFORE: MGS, MDTs and OSTs start in this order (Lustre manual, "Starting Lustre").
lustre_server_mount() {
    local after="gpucluster-zpool-$1.service $3"
    case "$2" in ost*) after="$after $(lustre_server_first)" ;; esac
    printf '[Unit]\nDescription=%s of %s (gpucluster)\nRequires=gpucluster-zpool-%s.service\n' "$2" "$GPUCLUSTER_LUSTRE_FSNAME" "$1"
    printf 'Wants=network-online.target\nAfter=network-online.target %s\n\n' "$after"
    printf '[Mount]\nWhat=%s/%s\nWhere=%s/%s\nType=lustre\nOptions=_netdev\nTimeoutSec=300\n\n' "$1" "$2" "$LUSTRE_SERVER_ROOT" "$2"
    printf '[Install]\nWantedBy=multi-user.target\n'
}

# lustre_server_first: the mounts of MDTs on this machine, where it has some.
lustre_server_first() {
    local kind index _
    while read -r kind index _; do
        if [ "$kind" = mdt ]; then lustre_server_unit "$(printf 'mdt%04x' "$index")"; fi
    done <<<"$GPUCLUSTER_LUSTRE_TARGETS" | paste -sd ' '
}

# lustre_server_serve KIND INDEX VDEV...
lustre_server_serve() {
    local pool part
    pool=$(lustre_server_pool "$1" "$2")
    [ "${LUSTRE_SERVER_STATE[$pool]}" != partner ] || return 0
    keep_running "gpucluster-zpool-$pool.service"
    for part in $(lustre_server_parts "$1" "$2"); do keep_running "$(lustre_server_unit "$part")"; done
}

# Targets are unmounted, the last one first, and pools let go. What lies in them stays.
lustre_server_undo() {
    local lines
    for lines in "${GPUCLUSTER_LUSTRE_STANDBY:-}" "${GPUCLUSTER_LUSTRE_TARGETS:-}"; do
        lustre_server_each lustre_server_drop "$(printf '%s\n' "$lines" | tac)"
    done
}

lustre_server_drop() {
    local pool part unit
    pool=$(lustre_server_pool "$1" "$2")
    for part in $(lustre_server_parts "$1" "$2" | tac) "zpool-$pool"; do
        case "$part" in zpool-*) unit="gpucluster-$part.service" ;; *) unit=$(lustre_server_unit "$part") ;; esac
        if systemctl is-active --quiet "$unit"; then systemctl stop "$unit" || fail "$unit does not stop: journalctl -u $unit"; fi
        release "$unit"
        remove_file "/etc/systemd/system/$unit"
    done
}
