# shellcheck shell=bash
# Containers may lock as much memory as they want: without it ibv_reg_mr gives ENOMEM and NCCL goes by TCP without a
# word (the service's limit is 8 MiB by default, systemd.exec(5)); IPC_LOCK does nothing for a container's non-root user
# (NVIDIA/nvidia-container-toolkit issue 2037).

memlock_apply() {
    printf '[Service]\nLimitMEMLOCK=infinity\nLimitNOFILE=1048576\n' |
        write_file /etc/systemd/system/containerd.service.d/10-gpucluster.conf 644 containerd.service
    printf '* soft memlock unlimited\n* hard memlock unlimited\n' | write_file /etc/security/limits.d/99-gpucluster.conf 644
    restart_pending containerd.service
    [ "$(systemctl show containerd.service -p LimitMEMLOCK --value)" = infinity ] ||
        fail "containerd still has a limit on locked memory: another drop-in of containerd.service comes after 10-gpucluster.conf"
}

memlock_undo() {
    remove_file /etc/systemd/system/containerd.service.d/10-gpucluster.conf containerd.service
    remove_file /etc/security/limits.d/99-gpucluster.conf
    restart_running containerd.service
}
