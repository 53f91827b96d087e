# shellcheck shell=bash
# Packages in just these versions, held: kubelet, kubeadm and kubectl come from the repository of their minor version
# (Kubernetes documentation, Installing kubeadm), and no driver, kernel or fabric manager updates itself.
# Reads GPUCLUSTER_PACKAGES (words `name=version`; `name=` takes what is there), GPUCLUSTER_KUBERNETES_MINOR (as 1.36) and
# GPUCLUSTER_KEEP (words: patterns of packages that unattended-upgrades leaves alone).

packages_apply() {
    local word name version missing=()
    local -A PACKAGES_HAVE=() PACKAGES_HELD=()
    needs PACKAGES
    needs KUBERNETES_MINOR
    needs KEEP
    packages_look
    packages_minor
    packages_repository
    packages_unattended | write_file /etc/apt/apt.conf.d/52gpucluster 644
    for word in $GPUCLUSTER_PACKAGES; do
        name=${word%%=*} version=${word#*=}
        [[ -n ${PACKAGES_HAVE[$name]:-} && ${version:-${PACKAGES_HAVE[$name]}} = "${PACKAGES_HAVE[$name]}" ]] ||
            missing+=("$name${version:+=$version}")
    done
    if [ "${#missing[@]}" != 0 ]; then
        packages_install "${missing[@]}"
        packages_look
    fi
    packages_hold
}

# packages_look: the versions that are installed and which of them are held, by one question to dpkg for all.
packages_look() {
    local word names=(kubelet) name want status version
    for word in $GPUCLUSTER_PACKAGES; do names+=("${word%%=*}"); done
    PACKAGES_HAVE=() PACKAGES_HELD=()
    # It ends with 1 where one of them is not known, and prints the others.
    # shellcheck disable=SC2016 # dpkg-query's own fields
    while read -r name want status version; do
        [ "$status" = installed ] || continue
        PACKAGES_HAVE[$name]=$version
        [ "$want" != hold ] || PACKAGES_HELD[$name]=yes
    done < <(dpkg-query -W -f='${Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n' "${names[@]}" 2>/dev/null)
}

# packages_minor: a node changes its minor version by kubeadm, drained, after the control plane; never by its packages alone.
packages_minor() {
    local have
    [ -e /etc/kubernetes/kubelet.conf ] || return 0
    have=$(cut -d. -f 1-2 <<<"${PACKAGES_HAVE[kubelet]:-}")
    [ -z "$have" ] || [ "$have" = "$GPUCLUSTER_KUBERNETES_MINOR" ] ||
        fail "this node runs Kubernetes $have and the stack file says $GPUCLUSTER_KUBERNETES_MINOR: upgrade it first, one node after the other (docs/how-to/metal.md, node/kubernetes/upgrade.sh), or write $have again"
}

packages_repository() {
    local key=/etc/apt/keyrings/gpucluster-kubernetes.asc url="https://pkgs.k8s.io/core:/stable:/v$GPUCLUSTER_KUBERNETES_MINOR/deb"
    if [ ! -s "$key" ]; then
        mkdir -p /etc/apt/keyrings
        curl -fsSL --retry 3 -o "$GPUCLUSTER_RUN/key" "$url/Release.key" || fail "$url/Release.key cannot be fetched: does this host reach pkgs.k8s.io, or a mirror of it?"
        write_file "$key" 644 <"$GPUCLUSTER_RUN/key"
    fi
    printf 'deb [signed-by=%s] %s/ /\n' "$key" "$url" | write_file /etc/apt/sources.list.d/gpucluster-kubernetes.list 644 apt
}

packages_unattended() {
    local name
    printf 'Unattended-Upgrade::Package-Blacklist {\n'
    for name in $GPUCLUSTER_KEEP; do printf '  "%s";\n' "$name"; done
    printf '};\n'
}

packages_install() {
    local word name
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
    apt-get update -q || fail "the package lists cannot be read: apt-get update"
    rm -f "$GPUCLUSTER_PENDING/apt"
    for word in "$@"; do
        name=${word%%=*}
        [ -n "${PACKAGES_HAVE[$name]:-}" ] || printf '%s\n' "$name" >>"$GPUCLUSTER_STATE/installed"
    done
    apt-get install -q -y --no-install-recommends --allow-downgrades --allow-change-held-packages \
        -o Dpkg::Options::=--force-confold -o DPkg::Lock::Timeout=300 "$@" || fail "apt-get cannot install $*: see the log"
    changed "$*"
}

packages_hold() {
    local word name names=()
    for word in $GPUCLUSTER_PACKAGES; do
        name=${word%%=*}
        [ -n "${PACKAGES_HELD[$name]:-}" ] || names+=("$name")
    done
    [ "${#names[@]}" != 0 ] || return 0
    apt-mark hold "${names[@]}"
    printf '%s\n' "${names[@]}" >>"$GPUCLUSTER_STATE/held"
    for name in "${names[@]}"; do changed "$name held"; done
}

# What was installed here goes, what was there before stays; nothing else is removed with it.
packages_undo() {
    local name
    if [ -s "$GPUCLUSTER_STATE/held" ]; then
        xargs apt-mark unhold <"$GPUCLUSTER_STATE/held"
        rm -f "$GPUCLUSTER_STATE/held"
        changed "packages released"
    fi
    if [ -s "$GPUCLUSTER_STATE/installed" ]; then
        sort -u "$GPUCLUSTER_STATE/installed" | DEBIAN_FRONTEND=noninteractive xargs apt-get remove -q -y
        changed "$(sort -u "$GPUCLUSTER_STATE/installed" | tr '\n' ' ')removed"
        rm -f "$GPUCLUSTER_STATE/installed"
    fi
    for name in /etc/apt/sources.list.d/gpucluster-kubernetes.list /etc/apt/keyrings/gpucluster-kubernetes.asc /etc/apt/apt.conf.d/52gpucluster; do
        remove_file "$name"
    done
}
