# shellcheck shell=bash
# The control plane lets in the machines that have not joined yet, each by a token of its own that ends soon; a control plane
# node also finds the certificates again, which kubeadm keeps for two hours (kubeadm reference, kubeadm token create, kubeadm
# init phase upload-certs). Reads GPUCLUSTER_INVITATIONS: lines `NAME TOKEN worker|control-plane SERIAL`, where the serial is
# written as a label's value, or `-`. Tokens are in files only.
#
# A timer does it again: a machine that comes late, or failed to join for longer than a token lives, needs nobody's hand.
#
# A node knows by a label which machine it was registered by. Another machine under its name has its node taken away first,
# and only while it is not Ready: two that run under one name would take each other's pods. Reads GPUCLUSTER_LEAVING
# (serials as labels have them): nodes of those that the inventory names no more are drained and deleted.

INVITATIONS_HOURS=2
INVITATIONS_LIST=/etc/kubernetes/gpucluster/invitations
INVITATIONS_PROGRAM=/usr/local/sbin/gpucluster-invite
INVITATIONS_UNITS=/etc/systemd/system/gpucluster-invite

invitations_apply() {
    needs INVITATIONS
    needs LEAVING
    printf '%s\n' "$GPUCLUSTER_INVITATIONS" | write_file "$INVITATIONS_LIST" 600
    invitations_program | write_file "$INVITATIONS_PROGRAM" 700
    invitations_service | write_file "$INVITATIONS_UNITS.service" 644 gpucluster-invite.timer
    invitations_timer | write_file "$INVITATIONS_UNITS.timer" 644 gpucluster-invite.timer
    keep_running gpucluster-invite.timer
    restart_pending gpucluster-invite.timer
    invitations_leave
    invitations_send <"$INVITATIONS_LIST"
}

# invitations_send: a token for each machine of standard input that is no node and has none.
invitations_send() {
    local name token kind serial nodes known was refused="" admin=/etc/kubernetes/admin.conf
    nodes=$(invitations_nodes "$admin") || fail "the API server does not answer: look at the static pods (crictl ps -a)"
    known=$(kubectl --kubeconfig "$admin" --request-timeout=10s -n kube-system get secrets -o name) || fail "the API server does not answer: look at the static pods (crictl ps -a)"
    while read -r name token kind serial; do
        [ -n "$name" ] || continue
        was=$(awk -v name="$name" '$1 == name {print $2, $3}' <<<"$nodes")
        if [ -n "$was" ]; then
            case "$was" in
            "<none> "* | "$serial "*) continue ;;
            *" True")
                refused="$refused $name is Ready as the machine ${was% *}, and the stack file says $serial: switch the old machine off, or correct serials."
                continue
                ;;
            esac
            kubectl --kubeconfig "$admin" --request-timeout=60s delete node "$name" >/dev/null || fail "the node $name of the machine ${was% *} cannot be deleted: see the log"
            changed "$name of the machine ${was% *} is no node any more"
        fi
        # The API server takes those away that have ended (kube-controller-manager, token-cleaner).
        if printf '%s\n' "$known" | grep -qx "secret/bootstrap-token-${token%%.*}"; then continue; fi
        invitations_token "$token" "$admin"
        [ "$kind" = worker ] || invitations_certificates
        changed "$name invited"
    done
    [ -z "$refused" ] || fail "${refused# }"
}

# invitations_nodes ADMIN: lines NAME SERIAL READY.
invitations_nodes() {
    kubectl --kubeconfig "$1" --request-timeout=10s get nodes --no-headers \
        -o 'custom-columns=NAME:.metadata.name,SERIAL:.metadata.labels.gpucluster/serial,READY:.status.conditions[?(@.type=="Ready")].status'
}

# invitations_leave: nodes of machines that are to leave and that the inventory names no more.
invitations_leave() {
    local name serial ready admin=/etc/kubernetes/admin.conf nodes
    nodes=$(invitations_nodes "$admin") || fail "the API server does not answer: look at the static pods (crictl ps -a)"
    while read -r name serial ready; do
        case " $GPUCLUSTER_LEAVING " in *" $serial "*) ;; *) continue ;; esac
        if grep -q "^$name " "$INVITATIONS_LIST"; then continue; fi
        kubectl --kubeconfig "$admin" drain "$name" --ignore-daemonsets --delete-emptydir-data --force --timeout=15m >&2 ||
            { [ "$ready" != True ] || fail "$name cannot be drained within 15 minutes: kubectl get pods -A --field-selector spec.nodeName=$name shows what holds it"; }
        kubectl --kubeconfig "$admin" --request-timeout=60s delete node "$name" >/dev/null || fail "the node $name cannot be deleted: see the log"
        changed "$name drained and deleted"
    done <<<"$nodes"
}

# The same functions, by themselves.
invitations_program() {
    printf '#!/bin/bash\nset -euo pipefail\nINVITATIONS_HOURS=%s\n' "$INVITATIONS_HOURS"
    # shellcheck disable=SC2016 # of the program
    printf 'fail() { printf "%%s\\n" "$*" >&2; exit 1; }\nchanged() { printf "%%s\\n" "$*"; }\n'
    declare -f invitations_token invitations_certificates invitations_nodes invitations_send
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
