# shellcheck shell=bash
# This host joins the cluster, once, by a file with a token that is read and gone (kubeadm reference, v1beta4).
# Reads GPUCLUSTER_JOIN (JoinConfiguration, YAML, with a token that lives minutes), GPUCLUSTER_CONTROL_PLANE_FILES as
# control-plane does where it joins as one, and GPUCLUSTER_ALLOW_RESET (serials whose undoing may run kubeadm reset).

join_apply() {
    needs JOIN
    if [ -e /etc/kubernetes/kubelet.conf ]; then
        systemctl is-active --quiet kubelet.service || fail "this host has joined and its kubelet does not run: journalctl -u kubelet"
        return 0
    fi
    given_files "${GPUCLUSTER_CONTROL_PLANE_FILES:-}"
    (umask 077 && printf '%s\n' "$GPUCLUSTER_JOIN" >"$GPUCLUSTER_RUN/join.yaml")
    # In a shell of its own: the file with the token goes whatever comes.
    (trap 'rm -f "$GPUCLUSTER_RUN/join.yaml"' EXIT && kubeadm_or_fail join --config "$GPUCLUSTER_RUN/join.yaml")
    changed "joined"
}

join_undo() {
    leave_cluster
}
