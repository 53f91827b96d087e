# shellcheck shell=bash
# A clock range and a power cap within what each GPU allows, set again at each boot (nvidia-smi(1), -lgc and -pl).
# Reads GPUCLUSTER_GPU_CLOCKS ("min,max" in MHz, empty: the GPU's own) and GPUCLUSTER_GPU_WATTS (empty: the GPU's own).

clocks_apply() {
    needs GPU_CLOCKS
    needs GPU_WATTS
    if [ -z "$GPUCLUSTER_GPU_CLOCKS$GPUCLUSTER_GPU_WATTS" ]; then
        clocks_undo
        return 0
    fi
    clocks_within
    clocks_unit | write_file /etc/systemd/system/gpucluster-clocks.service 644 gpucluster-clocks.service
    keep_running gpucluster-clocks.service
    restart_pending gpucluster-clocks.service
}

clocks_within() {
    local least most highest low=${GPUCLUSTER_GPU_CLOCKS%,*} high=${GPUCLUSTER_GPU_CLOCKS#*,}
    while IFS=', ' read -r least most highest; do
        if [ -n "$GPUCLUSTER_GPU_WATTS" ]; then
            if [ "$GPUCLUSTER_GPU_WATTS" -lt "${least%%.*}" ] || [ "$GPUCLUSTER_GPU_WATTS" -gt "${most%%.*}" ]; then
                fail "a cap of $GPUCLUSTER_GPU_WATTS W lies outside of what this GPU takes, ${least%%.*} to ${most%%.*} W"
            fi
        fi
        if [ -n "$GPUCLUSTER_GPU_CLOCKS" ]; then
            if [ "$low" -gt "$high" ] || [ "$high" -gt "$highest" ]; then
                fail "clocks of $low to $high MHz are not within this GPU's, which end at $highest MHz"
            fi
        fi
    done < <(nvidia-smi --query-gpu=power.min_limit,power.max_limit,clocks.max.sm --format=csv,noheader,nounits)
}

clocks_unit() {
    printf '[Unit]\nDescription=GPU clocks and power caps (gpucluster)\nAfter=nvidia-persistenced.service\nBefore=kubelet.service\n\n'
    printf '[Service]\nType=oneshot\nRemainAfterExit=yes\n'
    [ -z "$GPUCLUSTER_GPU_CLOCKS" ] || printf 'ExecStart=/usr/bin/nvidia-smi -lgc %s\nExecStop=/usr/bin/nvidia-smi -rgc\n' "$GPUCLUSTER_GPU_CLOCKS"
    [ -z "$GPUCLUSTER_GPU_WATTS" ] || printf 'ExecStart=/usr/bin/nvidia-smi -pl %s\n' "$GPUCLUSTER_GPU_WATTS"
    printf '\n[Install]\nWantedBy=multi-user.target\n'
}

# Stopping the unit frees the clocks; a power cap stays until the driver is loaded anew.
clocks_undo() {
    release gpucluster-clocks.service
    remove_file /etc/systemd/system/gpucluster-clocks.service
}
