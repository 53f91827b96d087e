# shellcheck shell=bash
# The control plane lets in the machines that have not joined yet, each by a token of its own that ends soon; a control plane
# node also finds the certificates again, which kubeadm keeps for two hours (kubeadm reference, kubeadm token create, kubeadm
# init phase upload-certs). Reads GPUCLUSTER_INVITATIONS: lines `NAME TOKEN worker|control-plane`. Tokens are in files only.

#
# A timer does it again: a machine that comes late, or failed to join for longer than a token lives, needs nobody's hand.

INVITATIONS_HOURS=2
INVITATIONS_LIST=/etc/kubernetes/gpucluster/invitations
INVITATIONS_PROGRAM=/usr/local/sbin/gpucluster-invite
INVITATIONS_UNITS=/etc/systemd/system/gpucluster-invite

invitations_apply() {
    needs INVITATIONS
    printf '%s\n' "$GPUCLUSTER_INVITATIONS" | write_file "$INVITATIONS_LIST" 600
    invitations_program | write_file "$INVITATIONS_PROGRAM" 700
    invitations_service | write_file "$INVITATIONS_UNITS.service" 644 gpucluster-invite.timer
    invitations_timer | write_file "$INVITATIONS_UNITS.timer" 644 gpucluster-invite.timer
    keep_running gpucluster-invite.timer
    restart_pending gpucluster-invite.timer
    invitations_send <"$INVITATIONS_LIST"
}

# invitations_send: a token for each machine of standard input that is no node and has none.
invitations_send() {
    local name token kind admin=/etc/kubernetes/admin.conf nodes known
    nodes=$(kubectl --kubeconfig "$admin" --request-timeout=10s get nodes -o name) || fail "the API server does not answer: look at the static pods (crictl ps -a)"
    known=$(kubectl --kubeconfig "$admin" --request-timeout=10s -n kube-system get secrets -o name) || fail "the API server does not answer: look at the static pods (crictl ps -a)"
    while read -r name token kind; do
        [ -n "$name" ] || continue
        if printf '%s\n' "$nodes" | grep -qx "node/$name"; then continue; fi
        # The API server takes those away that have ended (kube-controller-manager, token-cleaner).
        if printf '%s\n' "$known" | grep -qx "secret/bootstrap-token-${token%%.*}"; then continue; fi
        invitations_token "$token" "$admin"
        [ "$kind" = worker ] || invitations_certificates
        changed "$name invited"
    done
}

# The same functions, by themselves.
invitations_program() {
    printf '#!/bin/bash\nset -euo pipefail\nINVITATIONS_HOURS=%s\n' "$INVITATIONS_HOURS"
    # shellcheck disable=SC2016 # of the program
    printf 'fail() { printf "%%s\\n" "$*" >&2; exit 1; }\nchanged() { printf "%%s\\n" "$*"; }\n'
    declare -f invitations_token invitations_certificates invitations_send
    printf 'invitations_send <%s\n' "$INVITATIONS_LIST"
}

invitations_service() {
    printf '[Unit]\nDescription=Invite machines that have not joined (gpucluster)\nAfter=network-online.target\n\n'
    printf '[Service]\nType=oneshot\nExecStart=%s\n' "$INVITATIONS_PROGRAM"
}

invitations_timer() {
    printf '[Unit]\nDescription=Invite machines that have not joined (gpucluster)\n\n'
    printf '[Timer]\nOnBootSec=5min\nOnUnitInactiveSec=5min\n\n[Install]\nWantedBy=timers.target\n'
}

# invitations_token TOKEN ADMIN: as a Secret from standard input, because arguments are shown by ps.
invitations_token() {
    local ends
    ends=$(date -u -d "+$INVITATIONS_HOURS hours" +%Y-%m-%dT%H:%M:%SZ)
    kubectl --kubeconfig "$2" --request-timeout=10s apply -f - >/dev/null <<SECRET || fail "the token cannot be written: see the log"
{"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
 "metadata": {"name": "bootstrap-token-${1%%.*}", "namespace": "kube-system"},
 "stringData": {"token-id": "${1%%.*}", "token-secret": "${1#*.}", "expiration": "$ends",
  "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
  "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token"}}
SECRET
}

invitations_certificates() {
    [ -e /etc/kubernetes/gpucluster-kubeadm.yaml ] || return 0
    kubeadm init phase upload-certs --upload-certs --config /etc/kubernetes/gpucluster-kubeadm.yaml >/dev/null || fail "kubeadm cannot upload the certificates: see the log"
}

invitations_undo() {
    release gpucluster-invite.timer
    remove_file "$INVITATIONS_UNITS.timer"
    remove_file "$INVITATIONS_UNITS.service"
    remove_file "$INVITATIONS_PROGRAM"
    remove_file "$INVITATIONS_LIST"
}
