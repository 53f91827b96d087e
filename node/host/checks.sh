# shellcheck shell=bash
# What must hold of a host before anything of it is changed. Changes nothing.
# Reads GPUCLUSTER_SERIAL (may be empty: any machine), _OS (words as "ubuntu-24.04"), _MIN_KERNEL, _MIN_FREE_GIB,
# _MEMORY_GIB (0: any), _IOMMU (pt: SR-IOV needs it; off: translated DMA stalls GPUDirect; any).

checks_apply() {
    local id version found kernel free have
    for id in SERIAL OS MIN_KERNEL MIN_FREE_GIB MEMORY_GIB IOMMU; do needs "$id"; done
    if [ -n "$GPUCLUSTER_SERIAL" ] && [ "$(serial)" != "$GPUCLUSTER_SERIAL" ]; then
        fail "this machine has serial $(serial) and the stack file says $GPUCLUSTER_SERIAL: another machine answers at this address, or the serial is wrong"
    fi
    [ "$(uname -m)" = x86_64 ] || fail "this machine is $(uname -m), and the packages are for x86_64"
    found=$(
        # shellcheck disable=SC1091
        . /etc/os-release
        printf '%s-%s' "$ID" "$VERSION_ID"
    )
    case " $GPUCLUSTER_OS " in
    *" $found "*) ;;
    *) fail "this host runs $found, and this stack knows $GPUCLUSTER_OS: install one of those" ;;
    esac
    kernel=$(uname -r)
    version=${kernel%%-*}
    at_least "$version" "$GPUCLUSTER_MIN_KERNEL" || fail "kernel $kernel is older than $GPUCLUSTER_MIN_KERNEL: update it and reboot"
    # kubelet 1.35 and later refuse cgroup v1 by default (KEP-5573, failCgroupV1).
    [ -e /sys/fs/cgroup/cgroup.controllers ] || fail "this host has cgroup v1: boot it with systemd.unified_cgroup_hierarchy=1"
    free=$(df --output=avail -B1G /var | tail -n 1 | tr -d ' ')
    [ "$free" -ge "$GPUCLUSTER_MIN_FREE_GIB" ] || fail "/var has $free GiB free and needs $GPUCLUSTER_MIN_FREE_GIB: make room"
    have=$(awk '/^MemTotal:/ {printf "%d", $2 / 1048576}' /proc/meminfo)
    # Firmware and kernel keep up to some per cent; a DIMM less is more than that.
    [ "$GPUCLUSTER_MEMORY_GIB" = 0 ] || [ "$have" -ge $((GPUCLUSTER_MEMORY_GIB * 95 / 100)) ] ||
        fail "this host has $have GiB of memory and its model $GPUCLUSTER_MEMORY_GIB: look for a failed DIMM"
    checks_iommu
}

checks_iommu() {
    local line
    line=" $(cat /proc/cmdline) "
    case "$GPUCLUSTER_IOMMU" in
    pt) case "$line" in *" iommu=pt "*) ;; *) fail "SR-IOV needs iommu=pt: add it to GRUB_CMDLINE_LINUX, run update-grub, reboot" ;; esac ;;
    off) case "$line" in *" iommu=pt "* | *" intel_iommu=on "* | *" amd_iommu=on "*) fail "the IOMMU is on and translates DMA of GPUs: take it off the kernel's command line, reboot" ;; esac ;;
    esac
}

checks_undo() { :; }
