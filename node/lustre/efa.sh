#!/bin/bash
# Lets the Lustre client of a node speak EFA, before anything mounts. The first argument is how many EFA devices it takes.
# Source: FSx for Lustre user guide, "Configuring EFA clients"; EKS user guide, "Optimize Amazon FSx for Lustre
# performance on nodes (EFA)". Modules stand in AL2023's own kernel; the package brings lnetctl.
set -euo pipefail

wanted=$1

# So many of the node's devices, at even distances: neighbours share a network card and a NUMA node.
devices() {
    local -a all
    mapfile -t all < <(ls -1 /sys/class/infiniband)
    local count=${#all[@]} taken
    [ "$count" -gt 0 ] || { echo "no EFA device found" >&2; return 1; }
    taken=$((wanted < count ? wanted : count))
    for ((index = 0; index < taken; index++)); do
        echo "${all[index * count / taken]}"
    done
}

# How many interfaces of EFA LNet has, and says are up.
up() { lnetctl net show --net efa | grep -c '^ *status: up$' || true; }

chosen=$(devices)
interface=$(ip -o -4 route show default | awk '{ for (i = 1; i < NF; i++) if ($i == "dev") { print $(i + 1); exit } }')
[ -n "$interface" ] || { echo "no default route found" >&2; exit 1; }
command -v lnetctl > /dev/null || dnf install -y lustre-client

modprobe lnet
modprobe kefalnd "ipif_name=$interface"
modprobe ksocklnd
lnetctl lnet configure
lnetctl net del --net tcp 2> /dev/null || true
lnetctl net add --net tcp --if "$interface"
for device in $chosen; do
    lnetctl net add --net efa --if "$device" --peer-credits 32
done
lnetctl set discovery 1
lnetctl udsp add --src efa --priority 0
modprobe lustre

# LNet takes a bad interface without a word, and what it lacks goes over TCP.
for ((tries = 0; tries < 10; tries++)); do
    [ "$(up)" -lt "$wanted" ] || exit 0
    sleep 1
done
echo "$(up) of $wanted EFA interfaces are up in LNet, the others are missing or down: see lnetctl net show -v" >&2
exit 1
