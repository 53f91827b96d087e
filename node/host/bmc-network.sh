# shellcheck shell=bash
# No packet goes to the management controllers' network from here, of pods or of the machine, now and at each boot.
# Reads GPUCLUSTER_BMC_CIDR, the network, and GPUCLUSTER_BMC_FROM: `all`, or the pods' range on machines of the control
# plane, which may ask controllers themselves.
#
# It is a routing rule (ip-rule(8)): it holds for whatever is routed, whichever firewall a network of pods brings, and is
# asked before addresses of the machine's own interfaces. With `protocol kernel` systemd-networkd leaves it alone, which
# takes away others when it starts (systemd issue 19106; Cilium writes its own so, cilium pull request 24288).

bmc_network_apply() {
    needs BMC_CIDR
    needs BMC_FROM
    bmc_network_program | write_file /usr/local/sbin/gpucluster-bmc-network 755 gpucluster-bmc-network.service
    bmc_network_unit | write_file /etc/systemd/system/gpucluster-bmc-network.service 644 gpucluster-bmc-network.service
    keep_running gpucluster-bmc-network.service
    restart_pending gpucluster-bmc-network.service
    if ! /usr/local/sbin/gpucluster-bmc-network --check; then
        /usr/local/sbin/gpucluster-bmc-network || fail "the kernel takes no routing rule for $GPUCLUSTER_BMC_CIDR: see the log"
        changed "routing rule for $GPUCLUSTER_BMC_CIDR"
    fi
}

bmc_network_program() {
    printf '#!/bin/sh\nfrom=%s\nto=%s\n' "$GPUCLUSTER_BMC_FROM" "$GPUCLUSTER_BMC_CIDR"
    cat <<'PROGRAM'
# Written by gpucluster. The one rule of priority 5 that prohibits: nothing of $from is sent to $to.
# --check only looks, --remove takes it away.
wanted="from $from to $to prohibit"
rules() { ip rule show | sed -n 's/^5:[[:space:]]*\(.* prohibit\)[[:space:]]*$/\1/p'; }
there=$(rules)
case "$1" in
--check) [ "$there" = "$wanted" ] && exit 0 || exit 1 ;;
--remove) wanted= ;;
esac
if [ -n "$wanted" ] && ! printf '%s\n' "$there" | grep -qxF "$wanted"; then
    ip rule add priority 5 from "$from" to "$to" prohibit protocol kernel || exit 1
fi
printf '%s\n' "$there" | while read -r word source to_word target action; do
    [ -n "$word" ] && [ "$word $source $to_word $target $action" != "$wanted" ] || continue
    ip rule del priority 5 from "$source" to "$target" "$action" || exit 1
done
PROGRAM
}

bmc_network_unit() {
    cat <<'UNIT'
[Unit]
Description=Nothing is sent to management controllers (gpucluster)
DefaultDependencies=no
Wants=network-pre.target
After=local-fs.target
Before=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/gpucluster-bmc-network
ExecStop=/usr/local/sbin/gpucluster-bmc-network --remove

[Install]
WantedBy=multi-user.target
UNIT
}

bmc_network_undo() {
    release gpucluster-bmc-network.service
    remove_file /etc/systemd/system/gpucluster-bmc-network.service
    remove_file /usr/local/sbin/gpucluster-bmc-network
}
