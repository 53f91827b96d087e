# shellcheck shell=bash
# Network devices of the fabric are called rail0… by their place on the PCI bus: the order in which they are found changes
# with firmware (systemd udev(7), NAME=).
# Reads GPUCLUSTER_RAILS: words `0000:18:00.0=rail0`, and GPUCLUSTER_RAIL_MTU: bytes, or nothing where each keeps its own.

rails_apply() {
    local word
    needs RAILS
    for word in $GPUCLUSTER_RAILS; do
        [ -d "/sys/bus/pci/devices/${word%%=*}" ] ||
            fail "no PCI device ${word%%=*} for ${word#*=}: is the card seated, and the address that of this server's model?"
    done
    rails_rules | write_file /etc/udev/rules.d/70-gpucluster-rails.rules 644 udev
    if [ -e "$GPUCLUSTER_PENDING/udev" ] || ! rails_named; then
        udevadm control --reload
        udevadm trigger --action=add --subsystem-match=net --settle
        rm -f "$GPUCLUSTER_PENDING/udev"
    fi
    for word in $GPUCLUSTER_RAILS; do
        [ -d "/sys/bus/pci/devices/${word%%=*}/net/${word#*=}" ] ||
            fail "${word%%=*} is still called $(ls "/sys/bus/pci/devices/${word%%=*}/net" 2>/dev/null): a device that is up keeps its name until a reboot"
        rails_widen "${word#*=}" "/sys/bus/pci/devices/${word%%=*}/net/${word#*=}/mtu"
    done
}

# rails_widen NAME FILE: gives the device its MTU at once, which the rule gives it at each boot.
rails_widen() {
    [ -n "${GPUCLUSTER_RAIL_MTU:-}" ] || return 0
    [ "$(cat "$2")" = "$GPUCLUSTER_RAIL_MTU" ] && return 0
    ip link set dev "$1" mtu "$GPUCLUSTER_RAIL_MTU" || fail "$1 takes no MTU of $GPUCLUSTER_RAIL_MTU bytes: ip -d link show $1 says its most"
}

rails_named() {
    local word
    for word in $GPUCLUSTER_RAILS; do
        [ -d "/sys/bus/pci/devices/${word%%=*}/net/${word#*=}" ] || return 1
    done
}

rails_rules() {
    local word mtu=${GPUCLUSTER_RAIL_MTU:+", ATTR{mtu}=\"$GPUCLUSTER_RAIL_MTU\""}
    for word in $GPUCLUSTER_RAILS; do
        printf 'SUBSYSTEM=="net", ACTION=="add", KERNELS=="%s", NAME="%s"%s\n' "${word%%=*}" "${word#*=}" "$mtu"
    done
}

# Names and MTU stay until a reboot.
rails_undo() {
    remove_file /etc/udev/rules.d/70-gpucluster-rails.rules
    udevadm control --reload
}
