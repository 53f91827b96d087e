# shellcheck shell=bash
# What this pool's kubelet has besides the cluster's configuration: a patch that kubeadm merges at init and join
# (kubeadm reference, "Customizing components with patches": target kubeletconfiguration).
# Reads GPUCLUSTER_KUBELET (the patch, YAML) and GPUCLUSTER_DRAINED (yes: no pods run here).
#
# A node that has joined takes a changed CPU or memory policy only without pods: the kubelet ends at start while its state
# file is that of another policy (Kubernetes documentation, Control CPU management policies on the node).

KUBELET_PATCH=/etc/kubernetes/patches/kubeletconfiguration0+merge.yaml

kubelet_apply() {
    needs KUBELET
    needs DRAINED
    if kubelet_differs && [ -e /etc/kubernetes/kubelet.conf ] && kubelet_policy_differs && [ "$GPUCLUSTER_DRAINED" != yes ]; then
        fail "the CPU or memory policy of $(uname -n) changes: drain it, name its serial in inventory.drained, then run this again"
    fi
    printf '%s\n' "$GPUCLUSTER_KUBELET" | write_file "$KUBELET_PATCH" 644 kubelet.service
    if [ ! -e /etc/kubernetes/kubelet.conf ]; then
        # kubeadm starts it when the host joins, with what is written by then.
        rm -f "$GPUCLUSTER_PENDING/kubelet.service"
    elif [ -e "$GPUCLUSTER_PENDING/kubelet.service" ]; then
        kubelet_renew
    fi
    systemctl is-enabled --quiet kubelet.service || systemctl enable kubelet.service || fail "the kubelet is not installed"
}

kubelet_differs() {
    ! printf '%s\n' "$GPUCLUSTER_KUBELET" | cmp -s - "$KUBELET_PATCH"
}

kubelet_policy_differs() {
    [ "$(kubelet_policies <"$KUBELET_PATCH" 2>/dev/null)" != "$(printf '%s\n' "$GPUCLUSTER_KUBELET" | kubelet_policies)" ]
}

# What the kubelet compares at start with the state that it left. With CPUs given to pods that is how much CPU is kept for
# daemons too: the CPUs kept are the first ones, and it ends where a pod has one of them ("not all reserved cpus are present
# in defaultCpuSet": Kubernetes 1.36, pkg/kubelet/cm/cpumanager/policy_static.go, validateState).
kubelet_policies() {
    awk '
        /^[^ ]/ { key = $1 }
        /^cpuManagerPolicy: static/ { given = 1 }
        key ~ /^(cpuManagerPolicy|cpuManagerPolicyOptions|memoryManagerPolicy|reservedSystemCPUs|reservedMemory):/ { print }
        key ~ /^(kube|system)Reserved:/ && $1 == "cpu:" { kept = kept key $0 "\n" }
        END { if (given) printf "%s", kept }' | sort
}

kubelet_renew() {
    kubeadm upgrade node phase kubelet-config --patches /etc/kubernetes/patches || fail "kubeadm cannot write the kubelet's configuration: see the log"
    if [ "$GPUCLUSTER_DRAINED" = yes ]; then
        systemctl stop kubelet.service
        rm -f /var/lib/kubelet/cpu_manager_state /var/lib/kubelet/memory_manager_state
    fi
    restart_pending kubelet.service
}

kubelet_undo() {
    remove_file "$KUBELET_PATCH"
}
