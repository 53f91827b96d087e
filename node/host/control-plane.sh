# shellcheck shell=bash
# The first control plane node: kubeadm init from a file, once (kubeadm reference, v1beta4).
# Reads GPUCLUSTER_KUBEADM (the configuration, YAML), GPUCLUSTER_CONTROL_PLANE_PEERS (addresses at which the API server of
# this cluster would answer if it were there already) and GPUCLUSTER_CONTROL_PLANE_FILES: lines `MODE PATH BASE64` of files
# that have to be there before, as the manifest of kube-vip, the configuration of encryption at rest, the audit policy.

control_plane_apply() {
    needs KUBEADM
    needs CONTROL_PLANE_PEERS
    [ -e /etc/kubernetes/admin.conf ] || control_plane_begins
    given_files "$(control_plane_files)"
    printf '%s\n' "$GPUCLUSTER_KUBEADM" | write_file /etc/kubernetes/gpucluster-kubeadm.yaml 600
    if [ -e /etc/kubernetes/admin.conf ]; then
        kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s get --raw /readyz >/dev/null ||
            fail "/etc/kubernetes/admin.conf is there and its API server does not answer: look at the static pods (crictl ps -a); nothing is reset by itself"
        return 0
    fi
    kubeadm_or_fail config validate --config /etc/kubernetes/gpucluster-kubeadm.yaml
    kubeadm_or_fail init --config /etc/kubernetes/gpucluster-kubeadm.yaml --upload-certs --skip-token-print --skip-certificate-key-print
    chmod 600 /etc/kubernetes/admin.conf
    changed "control plane made"
}

# control_plane_begins: fails where a cluster answers. `kubeadm init` knows nothing of it: it would make another authority and
# another etcd, and a kube-vip that takes the same address. Anybody may ask /livez (Kubernetes, "RBAC", role
# system:public-info-viewer), and every answer counts: an API server that lost its etcd says 500.
control_plane_begins() {
    local peer
    for peer in $GPUCLUSTER_CONTROL_PLANE_PEERS; do
        if curl --silent --insecure --noproxy '*' --max-time 5 --output /dev/null "https://$peer:6443/livez"; then
            fail "a cluster answers at $peer:6443 and this machine is not of it: in inventory.hosts write a control plane machine that is before this one, and this one joins; kubeadm init did not run"
        fi
    done
}

# control_plane_files: the files that are given. Where `kubeadm init` did not run, or somebody took super-admin.conf away, kube-vip
# asks with admin.conf, which has its rights by then (kubeadm 1.29 changelog, super-admin.conf).
control_plane_files() {
    local mode path content
    while read -r mode path content; do
        if [ "${path##*/}" = kube-vip.yaml ] && [ -e /etc/kubernetes/admin.conf ] && [ ! -e /etc/kubernetes/super-admin.conf ]; then
            content=$(base64 -d <<<"$content" | sed 's#/etc/kubernetes/super-admin\.conf#/etc/kubernetes/admin.conf#' | base64 -w 0)
        fi
        printf '%s %s %s\n' "$mode" "$path" "$content"
    done <<<"${GPUCLUSTER_CONTROL_PLANE_FILES:-}"
}

control_plane_undo() {
    leave_cluster
    remove_file /etc/kubernetes/gpucluster-kubeadm.yaml
}
