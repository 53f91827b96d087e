# shellcheck shell=bash
# Network devices of the fabric are called rail0… by their place on the PCI bus: the order in which they are found changes
# with firmware (systemd udev(7), NAME=).
# Reads GPUCLUSTER_RAILS: words `0000:18:00.0=rail0`.

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
    done
}

rails_named() {
    local word
    for word in $GPUCLUSTER_RAILS; do
        [ -d "/sys/bus/pci/devices/${word%%=*}/net/${word#*=}" ] || return 1
    done
}

rails_rules() {
    local word
    for word in $GPUCLUSTER_RAILS; do
        printf 'SUBSYSTEM=="net", ACTION=="add", KERNELS=="%s", NAME="%s"\n' "${word%%=*}" "${word#*=}"
    done
}

# The names stay until a reboot.
rails_undo() {
    remove_file /etc/udev/rules.d/70-gpucluster-rails.rules
    udevadm control --reload
}
