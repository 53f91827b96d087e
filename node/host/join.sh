# shellcheck shell=bash
# This host joins the cluster, once, by a file with a token that is read and gone (kubeadm reference, v1beta4).
# Reads GPUCLUSTER_JOIN (JoinConfiguration, YAML, with a token that lives minutes), GPUCLUSTER_CONTROL_PLANE_FILES as
# control-plane does where it joins as one, and GPUCLUSTER_ALLOW_RESET (serials whose undoing may run kubeadm reset).

JOIN_ETCDCTL='kubectl -n kube-system exec etcd-NAME -- etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key'

join_apply() {
    needs JOIN
    if [ -e /etc/kubernetes/kubelet.conf ]; then
        systemctl is-active --quiet kubelet.service || fail "this host has joined and its kubelet does not run: journalctl -u kubelet"
        return 0
    fi
    given_files "${GPUCLUSTER_CONTROL_PLANE_FILES:-}"
    join_leftovers
    (umask 077 && printf '%s\n' "$GPUCLUSTER_JOIN" >"$GPUCLUSTER_RUN/join.yaml")
    # In a shell of its own: the file with the token goes whatever comes.
    (trap 'rm -f "$GPUCLUSTER_RUN/join.yaml"' EXIT && kubeadm_or_fail join --config "$GPUCLUSTER_RUN/join.yaml") || join_failed
    changed "joined"
}

# join_leftovers: kubeadm writes the control plane's pods before it looks at etcd, and its next run refuses them (kubernetes,
# cmd/kubeadm/app/cmd/join.go: control-plane-prepare, check-etcd, kubelet-start; app/preflight/checks.go, FileAvailableCheck).
# Before kubelet-start no kubelet runs them.
join_leftovers() {
    [ ! -e /etc/kubernetes/bootstrap-kubelet.conf ] || return 0
    rm -f /etc/kubernetes/manifests/kube-{apiserver,controller-manager,scheduler}.yaml
}

# join_failed: ends the concern as kubeadm ended; a member of etcd that is gone has to be taken out by somebody.
join_failed() {
    local said
    said=$(cat "$GPUCLUSTER_RUN/failure")
    case "$said" in
    *'phase check-etcd'*) fail "${said% }: a machine that is gone is still a member of etcd: find its ID by \`$JOIN_ETCDCTL member list\`, NAME being a control plane machine that runs, take it out by the same with \`member remove ID\`, then pulumi up" ;;
    esac
    exit 1
}

join_undo() {
    leave_cluster
}
