# shellcheck shell=bash
# The drives that Ceph is to have: each is Ceph's already, or empty.
# Reads GPUCLUSTER_CEPH_DISKS (words: devices, best by /dev/disk/by-path), GPUCLUSTER_ALLOW_FORMAT (serials).
#
# Rook makes an OSD of every empty drive on its list, so this comes before the machine joins. Nothing is wiped unless
# GPUCLUSTER_ALLOW_FORMAT names the serial of this very machine, and no drive that is mounted, holds partitions or belongs
# to an array is touched even then. What is Ceph's stays, with or without that.

CEPH_DISKS_TYPE=ceph_bluestore

ceph_disks_apply() {
    local device
    needs CEPH_DISKS
    needs ALLOW_FORMAT
    for device in $GPUCLUSTER_CEPH_DISKS; do
        [ -e "$device" ] || fail "there is no drive $device: has it failed, or is its name that of another server?"
    done
    for device in $GPUCLUSTER_CEPH_DISKS; do ceph_disks_one "$device"; done
}

# ceph_disks_one DEVICE: it is Ceph's, or it is empty and may become so.
ceph_disks_one() {
    local content marked
    content=$(wipefs --noheadings --output TYPE "$1" | head -n 1)
    [ "$content" != "$CEPH_DISKS_TYPE" ] || return 0
    drive_unused "$1" "drive for Ceph"
    # An empty drive that was let through stays so, until Rook has made an OSD of it.
    marked=$GPUCLUSTER_STATE/ceph-disks
    if [ -z "$content" ] && grep -qxF "$1" "$marked" 2>/dev/null; then return 0; fi
    drive_may_be_formatted "$1" "become Ceph's"
    if [ -n "$content" ]; then
        wipefs --all --quiet "$1" || fail "wipefs cannot take $content off $1: see the log"
        changed "$1 wiped of $content"
    else
        changed "$1 left to Ceph"
    fi
    printf '%s\n' "$1" >>"$marked"
}

# What lies on the drives stays.
ceph_disks_undo() {
    :
}
