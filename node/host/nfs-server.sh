# shellcheck shell=bash
# People's own files: a pool of mirrored drives, a directory for each namespace in it, and an NFS server for the machines.
# Reads GPUCLUSTER_HOME_VDEVS (as zpool create takes them), _HOME_DIRECTORIES (words), _HOME_CLIENTS (words: networks) and
# GPUCLUSTER_ALLOW_FORMAT (serials).
#
# Nothing is formatted unless GPUCLUSTER_ALLOW_FORMAT names the serial of this very machine. A pool that is there stays with
# what lies in it; a drive that is mounted, holds partitions or is of another pool is never touched. A directory whose
# namespace went stays as well.

NFS_SERVER_POOL=gpucluster-home
NFS_SERVER_ROOT=/srv/home
NFS_SERVER_UNIT=gpucluster-zpool-home.service
NFS_SERVER_EXPORTS=/etc/exports.d/gpucluster.exports

nfs_server_apply() {
    local name directory
    for name in HOME_VDEVS HOME_DIRECTORIES HOME_CLIENTS ALLOW_FORMAT; do needs "$name"; done
    nfs_server_pool
    nfs_server_unit | write_file "/etc/systemd/system/$NFS_SERVER_UNIT" 644 "$NFS_SERVER_UNIT"
    if [ -e "$GPUCLUSTER_PENDING/$NFS_SERVER_UNIT" ]; then systemctl daemon-reload; fi
    keep_running "$NFS_SERVER_UNIT"
    rm -f "$GPUCLUSTER_PENDING/$NFS_SERVER_UNIT"
    for name in $GPUCLUSTER_HOME_DIRECTORIES; do
        directory=$NFS_SERVER_ROOT/$name
        mkdir -p "$directory"
        if [ "$(stat -c '%u:%g %a' "$directory")" != '1000:1000 770' ]; then
            chown 1000:1000 "$directory"
            chmod 770 "$directory"
            changed "$directory"
        fi
    done
    nfs_server_exports | write_file "$NFS_SERVER_EXPORTS" 644 exports
    keep_running nfs-kernel-server.service
    # A restart would let every client wait for the server's grace period (nfsd(7)); exportfs changes what is exported.
    if [ -e "$GPUCLUSTER_PENDING/exports" ]; then
        exportfs -ra || fail "exportfs cannot read $NFS_SERVER_EXPORTS: exportfs -ra"
        rm -f "$GPUCLUSTER_PENDING/exports"
    fi
}

# nfs_server_pool: the pool is here, or it is made of drives that are free.
nfs_server_pool() {
    local device said taking
    for device in $GPUCLUSTER_HOME_VDEVS; do
        case "$device" in /*) [ -e "$device" ] || fail "there is no drive $device: has it failed, or is its name that of another server?" ;; esac
    done
    taking=$(nfs_server_taking)
    if zpool list -H -o name "$NFS_SERVER_POOL"; then return 0; fi
    if said=$($taking 2>&1); then
        zpool export "$NFS_SERVER_POOL"
        return 0
    fi
    case "$said" in
    *"no such pool available"*) ;;
    *) fail "$NFS_SERVER_POOL is there and cannot be taken: $(printf '%s' "$said" | paste -sd ' ')" ;;
    esac
    for device in $GPUCLUSTER_HOME_VDEVS; do case "$device" in /*) nfs_server_free "$device" ;; esac; done
    for device in $GPUCLUSTER_HOME_VDEVS; do case "$device" in /*) wipefs --all --quiet "$device" || fail "wipefs cannot clear $device: see the log" ;; esac; done
    # shellcheck disable=SC2086 # words
    zpool create -o ashift=12 -o cachefile=none -O "mountpoint=$NFS_SERVER_ROOT" -O compression=lz4 "$NFS_SERVER_POOL" $GPUCLUSTER_HOME_VDEVS ||
        fail "zpool cannot make $NFS_SERVER_POOL: see the log"
    changed "$NFS_SERVER_POOL made"
    # Its unit takes it from here, as it does after a boot.
    zpool export "$NFS_SERVER_POOL"
}

# nfs_server_free DEVICE: nobody uses it, and what may be lost on it may be lost by the stack file's word.
nfs_server_free() {
    drive_unused "$1" "drive for homes"
    drive_may_be_formatted "$1" "be formatted for homes"
}

nfs_server_taking() {
    local device directories
    directories=$(for device in $GPUCLUSTER_HOME_VDEVS; do case "$device" in /*) dirname "$device" ;; esac; done | sort -u | sed 's/^/-d /' | paste -sd ' ')
    printf '/usr/sbin/zpool import -o cachefile=none %s %s' "$directories" "$NFS_SERVER_POOL"
}

nfs_server_unit() {
    printf '[Unit]\nDescription=ZFS pool of homes (gpucluster)\nAfter=systemd-udev-settle.service\nBefore=nfs-kernel-server.service\n\n'
    printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=%s\nExecStop=/usr/sbin/zpool export %s\n\n' "$(nfs_server_taking)" "$NFS_SERVER_POOL"
    printf '[Install]\nWantedBy=multi-user.target\n'
}

# nfs_server_exports: every file is of user 1000, whoever wrote it, as pods of all images can then read what they wrote
# (exports(5), all_squash); `mp` keeps an empty mount point from being served while the pool is away.
nfs_server_exports() {
    local name client
    for name in $GPUCLUSTER_HOME_DIRECTORIES; do
        printf '%s/%s' "$NFS_SERVER_ROOT" "$name"
        for client in $GPUCLUSTER_HOME_CLIENTS; do
            printf ' %s(rw,sync,no_subtree_check,all_squash,anonuid=1000,anongid=1000,mp=%s)' "$client" "$NFS_SERVER_ROOT"
        done
        printf '\n'
    done
}

# Nobody is served any more, and the pool is let go. What lies in it stays.
nfs_server_undo() {
    if [ -e "$NFS_SERVER_EXPORTS" ]; then
        remove_file "$NFS_SERVER_EXPORTS"
        exportfs -ra || fail "exportfs does not let go of what was exported: exportfs -v"
        rm -f "$GPUCLUSTER_PENDING/exports"
    fi
    release nfs-kernel-server.service
    release "$NFS_SERVER_UNIT"
    remove_file "/etc/systemd/system/$NFS_SERVER_UNIT"
}
