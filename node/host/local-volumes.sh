# shellcheck shell=bash
# Directories of the local drives that are mounted one by one, because a volume of the class local-volumes is a mount point
# (sig-storage-local-static-provisioner, operations, "Sharing a disk filesystem by multiple filesystem PVs").
# Reads GPUCLUSTER_LOCAL_VOLUMES (how many), GPUCLUSTER_LOCAL_VOLUMES_PATH (where) and GPUCLUSTER_NVME_MOUNT (of what).

local_volumes_apply() {
    local number unit
    needs LOCAL_VOLUMES
    needs LOCAL_VOLUMES_PATH
    needs NVME_MOUNT
    for number in $(seq 1 "$GPUCLUSTER_LOCAL_VOLUMES"); do
        mkdir -p "$GPUCLUSTER_NVME_MOUNT/volume-$number" "$GPUCLUSTER_LOCAL_VOLUMES_PATH/volume-$number"
        unit=$(local_volumes_unit "$number")
        local_volumes_mount "$number" | write_file "/etc/systemd/system/$unit" 644 "$unit"
        if [ -e "$GPUCLUSTER_PENDING/$unit" ]; then systemctl daemon-reload; fi
        keep_running "$unit"
        rm -f "$GPUCLUSTER_PENDING/$unit"
    done
}

local_volumes_unit() {
    systemd-escape --path --suffix=mount "$GPUCLUSTER_LOCAL_VOLUMES_PATH/volume-$1"
}

local_volumes_mount() {
    printf '[Unit]\nDescription=Local volume %s (gpucluster)\nRequiresMountsFor=%s\nBefore=kubelet.service\n\n' "$1" "$GPUCLUSTER_NVME_MOUNT"
    printf '[Mount]\nWhat=%s/volume-%s\nWhere=%s/volume-%s\nType=none\nOptions=bind\n\n' \
        "$GPUCLUSTER_NVME_MOUNT" "$1" "$GPUCLUSTER_LOCAL_VOLUMES_PATH" "$1"
    printf '[Install]\nWantedBy=multi-user.target\n'
}

# What lies in the volumes stays where it is.
local_volumes_undo() {
    local number unit
    for number in $(seq 1 "${GPUCLUSTER_LOCAL_VOLUMES:-0}"); do
        unit=$(local_volumes_unit "$number")
        release "$unit"
        remove_file "/etc/systemd/system/$unit"
    done
}
