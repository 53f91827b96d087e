# shellcheck shell=bash
# The first control plane node: kubeadm init from a file, once (kubeadm reference, v1beta4).
# Reads GPUCLUSTER_KUBEADM (the configuration, YAML) and GPUCLUSTER_CONTROL_PLANE_FILES: lines `MODE PATH BASE64` of files
# that have to be there before, as the manifest of kube-vip, the configuration of encryption at rest, the audit policy.

control_plane_apply() {
    needs KUBEADM
    given_files "${GPUCLUSTER_CONTROL_PLANE_FILES:-}"
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

control_plane_undo() {
    leave_cluster
    remove_file /etc/kubernetes/gpucluster-kubeadm.yaml
}
