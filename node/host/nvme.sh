# shellcheck shell=bash
# The local NVMe drives as one striped array with XFS, mounted at each boot.
# Reads GPUCLUSTER_NVME (words: devices, best by /dev/disk/by-id), GPUCLUSTER_NVME_MOUNT, GPUCLUSTER_ALLOW_FORMAT (serials).
#
# Nothing is formatted unless GPUCLUSTER_ALLOW_FORMAT names the serial of this very machine, and no drive that is mounted,
# holds partitions or belongs to another array is touched even then.

NVME_ARRAY=/dev/md/gpucluster
NVME_LABEL=gpucluster

nvme_apply() {
    local device unit
    needs NVME
    needs NVME_MOUNT
    needs ALLOW_FORMAT
    unit=$(systemd-escape --path --suffix=mount "$GPUCLUSTER_NVME_MOUNT")
    for device in $GPUCLUSTER_NVME; do
        [ -e "$device" ] || fail "there is no drive $device: has it failed, or is its name that of another server?"
    done
    nvme_array
    nvme_filesystem
    mkdir -p "$GPUCLUSTER_NVME_MOUNT"
    nvme_unit | write_file "/etc/systemd/system/$unit" 644 "$unit"
    if [ -e "$GPUCLUSTER_PENDING/$unit" ]; then systemctl daemon-reload; fi
    keep_running "$unit"
    rm -f "$GPUCLUSTER_PENDING/$unit"
}

# nvme_array: the array of just these drives; made only of drives that are free, and only where that is allowed.
nvme_array() {
    local device count=0 have
    for device in $GPUCLUSTER_NVME; do count=$((count + 1)); done
    if have=$(mdadm --detail --export "$NVME_ARRAY" 2>/dev/null); then
        grep -qx "MD_DEVICES=$count" <<<"$have" ||
            fail "$NVME_ARRAY has $(printf '%s\n' "$have" | sed -n 's/^MD_DEVICES=//p') drives and the plan $count: back up what lies there, and stop it by hand"
        return 0
    fi
    for device in $GPUCLUSTER_NVME; do nvme_free "$device"; done
    # shellcheck disable=SC2086 # words
    mdadm --create "$NVME_ARRAY" --run --force --level=0 --raid-devices="$count" --name="$NVME_LABEL" $GPUCLUSTER_NVME ||
        fail "mdadm cannot make $NVME_ARRAY: see the log"
    changed "$NVME_ARRAY made of $count drives"
}

# nvme_free DEVICE: nobody uses it; what may be lost on it may be lost by the stack file's word.
nvme_free() {
    drive_unused "$1" "scratch drive"
    drive_may_be_formatted "$1" "be formatted"
}

nvme_filesystem() {
    local type
    type=$(blkid -p -o value -s TYPE "$NVME_ARRAY" || true)
    case "$type" in
    xfs) return 0 ;;
    "") ;;
    *) fail "$NVME_ARRAY carries $type, which is not of this program's making: look at it by hand" ;;
    esac
    format_allowed || fail "$NVME_ARRAY has no file system: allow formatting with allowFormat and this host's serial, $(serial)"
    mkfs.xfs -q -L "$NVME_LABEL" "$NVME_ARRAY" || fail "mkfs.xfs cannot format $NVME_ARRAY: see the log"
    changed "$NVME_ARRAY formatted"
}

nvme_unit() {
    cat <<UNIT
[Unit]
Description=Local NVMe scratch (gpucluster)
Before=kubelet.service

[Mount]
What=/dev/disk/by-label/$NVME_LABEL
Where=$GPUCLUSTER_NVME_MOUNT
Type=xfs
Options=noatime,nofail,x-systemd.device-timeout=60

[Install]
WantedBy=multi-user.target
UNIT
}

# The array and what lies on it stay: nothing is formatted or stopped here.
nvme_undo() {
    local unit
    needs NVME_MOUNT
    unit=$(systemd-escape --path --suffix=mount "$GPUCLUSTER_NVME_MOUNT")
    release "$unit"
    remove_file "/etc/systemd/system/$unit"
}
