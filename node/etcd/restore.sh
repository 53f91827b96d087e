#!/bin/bash
# Brings the cluster's etcd back from a snapshot, on each machine of the control plane (etcd documentation, "Disaster recovery";
# Kubernetes documentation, "Restoring an etcd cluster"). Three steps, each on all machines before the next one:
#
#   restore.sh stop                              etcd and all that writes to it end
#   restore.sh restore SNAPSHOT NAME=ADDRESS...  the data of a new cluster with these members, out of the snapshot
#   restore.sh start                             static pods and kubelet come back
#
# Members that still ran would go on with the old data beside the new one, so nothing is restored while etcd answers. What was
# there is kept below /var/lib/etcd-before-*, and a step that was cut short may be run again.
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

MANIFESTS=/etc/kubernetes/manifests
ASIDE=/etc/kubernetes/gpucluster/restoring
PARTS=(kube-apiserver kube-controller-manager kube-scheduler etcd)
# Watchers must not see revisions again that they saw before the loss: etcd documentation, "Restoring with revision bump".
BUMP=1000000000

end() {
    printf '%s: %s\n' "$(hostname)" "$*" >&2
    exit 1
}

# flag NAME: the value of etcd's flag in its manifest, wherever that lies now.
flag() {
    local file found
    for file in "$ASIDE/etcd.yaml" "$MANIFESTS/etcd.yaml"; do
        [ -e "$file" ] || continue
        found=$(sed -n "s|^ *- --$1=||p" "$file" | head -n 1)
        [ -n "$found" ] || end "$file names no --$1: is it kubeadm's?"
        printf '%s' "$found"
        return 0
    done
    end "there is no $MANIFESTS/etcd.yaml: this is no machine of the control plane"
}

answers() {
    (exec 3<>/dev/tcp/127.0.0.1/2379) 2>/dev/null
}

stop_parts() {
    local part waited
    flag data-dir >/dev/null
    install -d -m 700 "$ASIDE"
    for part in "${PARTS[@]}"; do
        [ ! -e "$MANIFESTS/$part.yaml" ] || mv "$MANIFESTS/$part.yaml" "$ASIDE/"
    done
    for waited in $(seq 120); do
        answers || return 0
        [ "$waited" -lt 120 ] || end "etcd still answers after two minutes: crictl ps shows what runs; is the kubelet up?"
        sleep 1
    done
}

# etcdutl WORD...: the machine's own, or the one of etcd's image, which the kubelet has pulled.
run_etcdutl() {
    local image place=$1
    shift
    if command -v etcdutl >/dev/null; then
        etcdutl "$@"
        return
    fi
    image=$(sed -n 's|^ *image: *||p' "$ASIDE/etcd.yaml" | head -n 1)
    ctr -n k8s.io run --rm --mount "type=bind,src=$place,dst=$place,options=rbind:rw" \
        --mount "type=bind,src=$SNAPSHOT,dst=$SNAPSHOT,options=bind:ro" "$image" gpucluster-etcdutl etcdutl "$@"
}

restore() {
    local data name peer members=$1 own kept
    data=$(flag data-dir) name=$(flag name) peer=$(flag initial-advertise-peer-urls)
    [ -e "$ASIDE/etcd.yaml" ] || end "etcd was not stopped here: run 'stop' on every machine first"
    answers && end "etcd runs: run 'stop' on every machine first"
    [ -f "$SNAPSHOT" ] || end "there is no file $SNAPSHOT"
    case ",$members," in *",$name=$peer,"*) ;; *) end "the members ($members) lack this machine's own, $name=$peer" ;; esac
    own=$data/restored
    if [ -e "$data/restored-from" ] && [ "$(cat "$data/restored-from")" = "$(sha256sum <"$SNAPSHOT") $members" ]; then
        printf '%s: ok, it has this snapshot already\n' "$name"
        return 0
    fi
    rm -rf "$own"
    run_etcdutl "$data" snapshot restore "$SNAPSHOT" --data-dir "$own" --name "$name" --initial-cluster "$members" \
        --initial-cluster-token "restored-$(sha256sum <"$SNAPSHOT" | cut -c 1-16)" --initial-advertise-peer-urls "$peer" \
        --bump-revision "$BUMP" --mark-compacted >&2 || end "etcdutl cannot restore $SNAPSHOT: nothing was changed"
    if [ -e "$data/member" ]; then
        kept=/var/lib/etcd-before-$(date -u +%Y%m%dT%H%M%S)
        install -d -m 700 "$kept"
        mv "$data/member" "$kept/"
    fi
    mv "$own/member" "$data/member"
    rmdir "$own"
    printf '%s\n' "$(sha256sum <"$SNAPSHOT") $members" >"$data/restored-from"
    printf '%s: restored%s\n' "$name" "${kept:+, what was there is in $kept}"
}

start_parts() {
    local part data
    data=$(flag data-dir)
    [ -e "$data/member" ] || end "$data has no data: run 'restore' first"
    for part in etcd "${PARTS[@]}"; do
        [ ! -e "$ASIDE/$part.yaml" ] || mv "$ASIDE/$part.yaml" "$MANIFESTS/"
    done
    rm -f "$data/restored-from"
    systemctl restart kubelet.service || end "the kubelet does not start: journalctl -u kubelet"
}

[ "$(id -u)" = 0 ] || end "this needs root: use sudo"
step=${1:-}
shift || true
case $step in
stop) stop_parts ;;
restore)
    [ $# -ge 2 ] || end "restore takes the snapshot's path and NAME=ADDRESS of every control plane machine"
    SNAPSHOT=$(realpath -- "$1")
    shift
    members=$(printf ',%s' "$@" | sed 's|=|=https://|g; s|,\([^,]*\)|,\1:2380|g')
    restore "${members#,}"
    ;;
start) start_parts ;;
*) end "type stop, restore or start" ;;
esac
