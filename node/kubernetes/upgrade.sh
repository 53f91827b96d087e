#!/bin/bash
# Takes one node to another version of Kubernetes, of its own minor or the next (Kubernetes documentation, "Upgrading kubeadm
# clusters"). On machines of the control plane first, one after the other, then on the other nodes; each is drained before.
#
#   upgrade.sh NODE VERSION     as the cluster and the packages call them: dgx-01 1.37.1-1.1
#
# Every step looks whether it is done, so a run that was cut short may be run again.
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

ETC=/etc/kubernetes
LIST=/etc/apt/sources.list.d/gpucluster-kubernetes.list

end() {
    printf '%s: %s\n' "$NODE" "$*" >&2
    exit 1
}

# ask WORD...: kubectl with what this machine may do: a control plane's everything, a node's what is its own.
ask() {
    local config=$ETC/admin.conf
    [ -e "$config" ] || config=$ETC/kubelet.conf
    kubectl --kubeconfig "$config" --request-timeout=30s "$@" || end "the API server does not answer: kubectl $*"
}

# installed PACKAGE: its version.
installed() {
    # shellcheck disable=SC2016 # dpkg-query's own fields
    dpkg-query -W -f='${Version}' "$1" 2>/dev/null || true
}

# minor VERSION: 37 of 1.37.1-1.1 and of v1.37.1.
minor() { cut -d . -f 2 <<<"$1"; }

look() {
    local have plane
    [ "$(id -u)" = 0 ] || end "this needs root: use sudo"
    [[ $VERSION =~ ^1\.[0-9]+\.[0-9]+-[0-9.]+$ ]] || end "$VERSION is no version of a package, as 1.37.1-1.1: apt-cache madison kubelet"
    [ -e $ETC/kubelet.conf ] || end "this machine has not joined"
    have=$(installed kubelet)
    case $(($(minor "$VERSION") - $(minor "$have"))) in
    0 | 1) ;;
    *) end "it runs $have, and versions go up one minor at a time: not to $VERSION" ;;
    esac
    plane=$(ask --namespace kube-system get configmap kubeadm-config --output 'jsonpath={.data.ClusterConfiguration}' | sed -n 's/^kubernetesVersion: *//p')
    if [ ! -e $ETC/manifests/kube-apiserver.yaml ] && [ "$(minor "$plane")" -lt "$(minor "$VERSION")" ]; then
        end "the control plane is $plane: upgrade its machines first"
    fi
    [ "$(ask get node "$NODE" --output 'jsonpath={.spec.unschedulable}')" = true ] ||
        end "it is not drained: kubectl drain $NODE --ignore-daemonsets --delete-emptydir-data"
    BEHIND=$([ "$plane" = "v${VERSION%-*}" ] || echo yes)
}

# take PACKAGE...: in this version, held as before.
take() {
    local name missing=()
    for name in "$@"; do [ "$(installed "$name")" = "$VERSION" ] || missing+=("$name=$VERSION"); done
    [ "${#missing[@]}" = 0 ] && return 0
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --allow-change-held-packages -o DPkg::Lock::Timeout=300 "${missing[@]}" >&2 ||
        end "apt-get cannot install ${missing[*]}"
    apt-mark hold "$@" >&2
}

# static_pods: a machine of the control plane has them in this version; the first one takes the cluster there.
static_pods() {
    grep -q "kube-apiserver:v${VERSION%-*}$" $ETC/manifests/kube-apiserver.yaml && return 0
    if [ -n "$BEHIND" ]; then
        kubeadm upgrade apply "v${VERSION%-*}" --yes --patches $ETC/patches >&2 || end "kubeadm upgrade apply ended: nothing else was changed"
    else
        kubeadm upgrade node --patches $ETC/patches >&2 || end "kubeadm upgrade node ended: nothing else was changed"
    fi
}

[ $# = 2 ] || { echo "upgrade.sh NODE VERSION" >&2 && exit 2; }
NODE=$1 VERSION=$2
look
sed -i "s|/v1\.[0-9]*/|/v1.$(minor "$VERSION")/|" $LIST
apt-get update -q >&2 || end "the package lists cannot be read: apt-get update"
take kubeadm
if [ -e $ETC/manifests/kube-apiserver.yaml ]; then
    static_pods
elif [ "$(installed kubelet)" != "$VERSION" ]; then
    kubeadm upgrade node --patches $ETC/patches >&2 || end "kubeadm upgrade node ended: the kubelet was not changed"
fi
if [ "$(installed kubelet)" != "$VERSION" ]; then
    take kubelet kubectl
    systemctl daemon-reload
    systemctl restart kubelet.service || end "the kubelet does not start: journalctl -u kubelet"
fi
systemctl is-active --quiet kubelet.service || end "the kubelet does not run: journalctl -u kubelet"
printf '%s: %s; kubectl uncordon %s\n' "$NODE" "$VERSION" "$NODE"
