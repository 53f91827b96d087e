# shellcheck shell=bash
# Virtual functions of the fabric's ports, which an operator in the cluster makes: the cards' firmware allows as many
# (mstconfig(1), NUM_OF_VFS, SRIOV_EN), and RDMA devices go into a pod with its interface (Linux,
# drivers/infiniband/core/device.c, netns_mode; rdma-cni, README). Both are taken up at a boot. Nothing is rebooted here.
# Reads GPUCLUSTER_RAILS: words `0000:18:00.0=rail0`, GPUCLUSTER_VFS: functions of each port.

vfs_apply() {
    local word port have late=
    needs RAILS
    needs VFS
    echo 'options ib_core netns_mode=0' | write_file /etc/modprobe.d/gpucluster-rdma.conf 644
    for word in $GPUCLUSTER_RAILS; do
        port=${word%%=*}
        if ! vfs_allowed "$port"; then
            mstconfig --dev "$port" --yes set SRIOV_EN=1 "NUM_OF_VFS=$GPUCLUSTER_VFS" ||
                fail "the firmware of ${word#*=} does not take $GPUCLUSTER_VFS virtual functions: mstconfig -d $port query"
            changed "firmware of ${word#*=}"
        fi
        have=$(cat "/sys/bus/pci/devices/$port/sriov_totalvfs" 2>/dev/null) || have=0
        [ "$have" -ge "$GPUCLUSTER_VFS" ] || late="$late ${word#*=}"
    done
    [ -z "$late" ] ||
        fail "the firmware allows $GPUCLUSTER_VFS virtual functions of${late} after a reboot: reboot this host; if it stays so, turn SR-IOV on in its BIOS"
    vfs_apart || fail "RDMA devices are shared by all namespaces until this host is rebooted; where drivers come in a container, add ib_core.netns_mode=0 to GRUB_CMDLINE_LINUX and run update-grub before"
}

# vfs_allowed PORT: whether its firmware is set for as many functions as are wanted, now or after the next boot.
vfs_allowed() {
    local said
    said=$(mstconfig --dev "$1" query SRIOV_EN NUM_OF_VFS) ||
        fail "the firmware of $1 cannot be asked (mstconfig -d $1 query): is the card one of NVIDIA's?"
    awk -v wanted="$GPUCLUSTER_VFS" '
        $1 == "SRIOV_EN" {on = $NF}
        $1 == "NUM_OF_VFS" {count = $NF}
        END {exit !(on == "True(1)" && count == wanted)}' <<<"$said"
}

# vfs_apart: whether each namespace has RDMA devices of its own. A module that is loaded later reads the command line.
vfs_apart() {
    local mode=/sys/module/ib_core/parameters/netns_mode
    if [ -e "$mode" ]; then
        [ "$(cat "$mode")" = N ]
    else
        case " $(cat /proc/cmdline) " in *" ib_core.netns_mode=0 "*) ;; *) return 1 ;; esac
    fi
}

# What the firmware allows stays: without a policy nobody makes functions.
vfs_undo() {
    remove_file /etc/modprobe.d/gpucluster-rdma.conf
}
