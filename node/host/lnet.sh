# shellcheck shell=bash
# LNet, the network of Lustre: which interfaces it has, by the addresses that they have.
# Reads GPUCLUSTER_LNET (words NETWORK=ADDRESS, such as o2ib=10.22.0.31 tcp=10.20.0.31).
#
# The kernel reads its networks when it loads LNet, from its options, and brings them up for the first mount (Lustre
# operations manual, "LNet Module Parameters"). One that runs with other networks keeps them: nothing is unmounted here.

LNET_OPTIONS=/etc/modprobe.d/gpucluster-lnet.conf

lnet_apply() {
    local networks have want
    needs LNET
    networks=$(lnet_networks)
    printf 'options lnet networks="%s"\n' "$networks" | write_file "$LNET_OPTIONS" 644
    if ! lsmod | grep '^lnet ' >/dev/null; then
        modprobe lnet || fail "the kernel $(uname -r) has no LNet: install Lustre's modules for it"
        changed "lnet loaded"
    fi
    lctl network up >/dev/null || fail "LNet does not come up on $networks: is each interface up, and RDMA behind those of o2ib?"
    have=$(lctl list_nids | sort | paste -sd ' ')
    want=$(lnet_nids | sort | paste -sd ' ')
    [ "$have" = "$want" ] ||
        fail "LNet runs on ${have:-nothing} and the plan says $want: it takes its networks when it is loaded, so reboot this host"
}

# lnet_nids: the names that this machine has in LNet, one a line.
lnet_nids() {
    local word
    for word in $GPUCLUSTER_LNET; do printf '%s@%s\n' "${word#*=}" "${word%%=*}"; done
}

# lnet_networks: the option's value, such as o2ib(ib0,ib1),tcp(eno1).
lnet_networks() {
    local word network interface interfaces networks=''
    for network in $(for word in $GPUCLUSTER_LNET; do printf '%s\n' "${word%%=*}"; done | uniq); do
        interfaces=''
        for word in $GPUCLUSTER_LNET; do
            [ "${word%%=*}" = "$network" ] || continue
            interface=$(ip -o -4 address show to "${word#*=}" | head -n 1 | cut -d ' ' -f 2)
            [ -n "$interface" ] || fail "no interface has ${word#*=}, which LNet is to use for $network: give it this address, or correct storageAddresses"
            interfaces="${interfaces:+$interfaces,}$interface"
        done
        networks="${networks:+$networks,}$network($interfaces)"
    done
    printf '%s' "$networks"
}

# LNet stays loaded as long as something is mounted.
lnet_undo() {
    remove_file "$LNET_OPTIONS"
}
