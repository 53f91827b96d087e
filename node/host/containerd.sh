# shellcheck shell=bash
# containerd 2, whose configuration has version 3: an older one knows none of its tables (containerd docs/cri/config.md).
# systemd keeps the cgroups, as kubeadm tells the kubelet to.
# Reads GPUCLUSTER_PAUSE_IMAGE (the one kubeadm names) and GPUCLUSTER_DOWNLOADS (layers at once).

containerd_apply() {
    local have
    needs PAUSE_IMAGE
    needs DOWNLOADS
    have=$(containerd --version 2>/dev/null | awk '{print $3}') || fail "containerd is not installed"
    at_least "${have#v}" 2.0 || fail "containerd is ${have#v}, and its configuration here is that of 2.0 and later: install containerd.io 2"
    containerd_configuration | write_file /etc/containerd/config.toml 644 containerd.service
    keep_running containerd.service
    restart_pending containerd.service
}

containerd_configuration() {
    cat <<TOML
version = 3
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins."io.containerd.cri.v1.images"]
  max_concurrent_downloads = $GPUCLUSTER_DOWNLOADS

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "$GPUCLUSTER_PAUSE_IMAGE"

[plugins."io.containerd.cri.v1.images".registry]
  config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.cri.v1.runtime".containerd]
  default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = true
TOML
}

containerd_undo() {
    remove_file /etc/containerd/config.toml containerd.service
    restart_running containerd.service
    release containerd.service
}
