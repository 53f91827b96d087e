# shellcheck shell=bash
# The shared file system, mounted at each boot once the network is up.
# Reads GPUCLUSTER_SHARED_KIND (lustre or nfs), _SHARED_SOURCE (what mount takes) and _SHARED_PATH.

shared_files_apply() {
    local unit
    needs SHARED_KIND
    needs SHARED_SOURCE
    needs SHARED_PATH
    if [ "$GPUCLUSTER_SHARED_KIND" = lustre ]; then
        modprobe lustre || fail "the kernel $(uname -r) has no Lustre client: install lustre-client-modules for it"
    fi
    unit=$(systemd-escape --path --suffix=mount "$GPUCLUSTER_SHARED_PATH")
    mkdir -p "$GPUCLUSTER_SHARED_PATH"
    shared_files_mount | write_file "/etc/systemd/system/$unit" 644 "$unit"
    if [ -e "$GPUCLUSTER_PENDING/$unit" ]; then systemctl daemon-reload; fi
    # One that is mounted stays so until a reboot: pods may hold files open.
    keep_running "$unit"
    rm -f "$GPUCLUSTER_PENDING/$unit"
}

shared_files_mount() {
    local options=noatime,_netdev
    # flock: clients agree on locks of files, which data loaders and SQLite take (Lustre manual, mount.lustre).
    case "$GPUCLUSTER_SHARED_KIND" in
    lustre) options="$options,flock" ;;
    nfs) options="$options,hard,nconnect=8,vers=4.2" ;;
    *) fail "$GPUCLUSTER_SHARED_KIND is not a kind of shared file system: type lustre or nfs" ;;
    esac
    printf '[Unit]\nDescription=Shared files (gpucluster)\nWants=network-online.target\nAfter=network-online.target\nBefore=kubelet.service\n\n'
    printf '[Mount]\nWhat=%s\nWhere=%s\nType=%s\nOptions=%s\nTimeoutSec=120\n\n' \
        "$GPUCLUSTER_SHARED_SOURCE" "$GPUCLUSTER_SHARED_PATH" "$GPUCLUSTER_SHARED_KIND" "$options"
    printf '[Install]\nWantedBy=multi-user.target\n'
}

shared_files_undo() {
    local unit
    needs SHARED_PATH
    unit=$(systemd-escape --path --suffix=mount "$GPUCLUSTER_SHARED_PATH")
    release "$unit"
    remove_file "/etc/systemd/system/$unit"
}
