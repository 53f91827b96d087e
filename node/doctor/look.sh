# shellcheck shell=bash
# What a machine says of itself, a line `WORD VALUE...` for each thing; nothing is changed. What cannot be read has no line.
# Reads LOOK_DISKS (paths), LOOK_RAILS (PCI addresses), LOOK_NIC (an interface, or nothing) and LOOK_UNITS (of systemd).

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

say() { [ -z "$2" ] || printf '%s %s\n' "$1" "$2"; }
read_file() { tr -s '[:space:]' ' ' 2>/dev/null <"$1" | sed 's/ $//'; }

look() {
    local disk rail device unit
    say serial "$(tr -d '[:space:]' 2>/dev/null </sys/class/dmi/id/product_serial)"
    say kernel "$(uname -r)"
    say seconds "$(date +%s)"
    say memory "$(awk '/^MemTotal:/ {printf "%d", $2 / 1048576}' /proc/meminfo)"
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed 's/^/gpu /'
    for disk in ${LOOK_DISKS:-}; do
        if lsblk -n -r -o TYPE "$disk" 2>/dev/null | head -n 1 | grep -qx disk; then
            say disk "$disk $(lsblk -n -r -o MOUNTPOINTS "$disk" 2>/dev/null | grep -m 1 /)"
        fi
    done
    for rail in ${LOOK_RAILS:-}; do
        [ -e "/sys/bus/pci/devices/$rail" ] || continue
        say card "$rail"
        for device in /sys/bus/pci/devices/"$rail"/infiniband/*/ports/1; do
            [ -e "$device/state" ] || continue
            say port "$rail $(read_file "$device/state" | cut -d ' ' -f 2) $(read_file "$device/rate" | cut -d ' ' -f 1)"
        done
        for device in /sys/bus/pci/devices/"$rail"/net/*; do
            [ ! -e "$device/mtu" ] || say mtu "$rail $(read_file "$device/mtu")"
            say dscp "$rail $(dcb -N app show dev "${device##*/}" dscp-prio 2>/dev/null | tr -s ' \n' ' ')"
            say pfc "$rail $(dcb pfc show dev "${device##*/}" prio-pfc 2>/dev/null | grep -o '[0-7]:on' | tr '\n' ' ')"
        done
    done
    [ -z "${LOOK_NIC:-}" ] || [ ! -e "/sys/class/net/$LOOK_NIC" ] || say nic "$LOOK_NIC"
    for unit in ${LOOK_UNITS:-}; do
        [ "$(systemctl is-enabled "$unit" 2>/dev/null)" != enabled ] || say unit "$unit $(systemctl is-active "$unit")"
    done
}

look
printf 'end\n'
