# shellcheck shell=bash
# The mirror asks who pulls. The kubelet has a file for it, and uses it for every pod, of the control plane too (Kubernetes
# documentation, Pull an image from a private registry, "Configuring nodes"); it reads it again by itself (pkg/credentialprovider).
# It lies on what is mounted at the kubelet's directory, so drives come before.
#
# The image of pods' sandboxes containerd pulls by itself, as nobody: its own table of logins goes with containerd 2.4
# (RELEASES.md). crictl pulls it first, and containerd keeps it, since it is pinned. The login is in crictl's environment,
# which root alone reads; arguments anybody does.
#
# Reads GPUCLUSTER_REGISTRY (HOST[:PORT]), GPUCLUSTER_REGISTRY_LOGIN (USER:PASSWORD in base64), GPUCLUSTER_PAUSE_IMAGE.

REGISTRY_LOGIN_FILE=/var/lib/kubelet/config.json

registry_login_apply() {
    needs REGISTRY
    needs REGISTRY_LOGIN
    needs PAUSE_IMAGE
    printf '{"auths": {"%s": {"auth": "%s"}}}\n' "$GPUCLUSTER_REGISTRY" "$GPUCLUSTER_REGISTRY_LOGIN" |
        write_file "$REGISTRY_LOGIN_FILE" 600 registry-login
    if [ ! -e "$GPUCLUSTER_PENDING/registry-login" ] && registry_login_crictl inspecti "$GPUCLUSTER_PAUSE_IMAGE" >/dev/null; then
        return 0
    fi
    CRICTL_AUTH=$GPUCLUSTER_REGISTRY_LOGIN registry_login_crictl pull "$GPUCLUSTER_PAUSE_IMAGE" ||
        fail "$GPUCLUSTER_PAUSE_IMAGE cannot be pulled from $GPUCLUSTER_REGISTRY as the user of supply.registryLogin: see the log for what it answered"
    rm -f "$GPUCLUSTER_PENDING/registry-login"
    changed "$GPUCLUSTER_PAUSE_IMAGE pulled"
}

registry_login_crictl() {
    crictl --runtime-endpoint unix:///run/containerd/containerd.sock "$@"
}

registry_login_undo() {
    remove_file "$REGISTRY_LOGIN_FILE"
}
