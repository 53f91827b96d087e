# shellcheck shell=bash
# No swap: kubelet ends at start while there is some (failSwapOn, Kubernetes reference, KubeletConfiguration).

swap_apply() {
    if [ -n "$(swapon --noheadings --show=NAME)" ]; then
        : >"$GPUCLUSTER_STATE/swaps"
        swapoff -a || fail "swap cannot be turned off: is there memory for what lies there?"
        changed "swap off"
    fi
    if grep -Eq '^[^#[:space:]]+[[:space:]]+[^[:space:]]+[[:space:]]+swap[[:space:]]' /etc/fstab; then
        sed -E 's/^([^#[:space:]]+[[:space:]]+[^[:space:]]+[[:space:]]+swap[[:space:]])/# gpucluster: \1/' /etc/fstab |
            write_file /etc/fstab 644
    fi
}

# Only the lines that this concern put aside come back: others may have been written since.
swap_undo() {
    if grep -q '^# gpucluster: ' /etc/fstab; then
        sed 's/^# gpucluster: //' /etc/fstab >/etc/fstab.gpucluster-new
        chmod 644 /etc/fstab.gpucluster-new
        mv /etc/fstab.gpucluster-new /etc/fstab
        changed /etc/fstab
    fi
    [ -e "$GPUCLUSTER_STATE/swaps" ] || return 0
    swapon -a
    rm -f "$GPUCLUSTER_STATE/swaps"
    changed "swap on"
}
