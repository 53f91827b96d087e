#!/bin/sh
# Makes a new network, mount and process namespace into a host: boot.sh DISK NAME ADDRESS PORT HALL_NET PREFIX TOOLS
# INTERFACES, words NAME=ADDRESS.
# DISK holds the host's own files. Of the machine around it the host sees /usr (a copy on write), PREFIX (a Python) and
# TOOLS, and nothing else. In the end it may no longer mount, load, or set what is the machine's.
set -eu
disk=$1 name=$2 address=$3 port=$4 hall=$5 prefix=$6 tools=$7 interfaces=$8

ip link set lo up
# A card keeps its number when its machine is switched off and on: neighbours know it for a while.
# shellcheck disable=SC2046,SC2183 # one word for each part of the address
ip link add eth0 address "$(printf '02:00:%02x:%02x:%02x:%02x' $(echo "$address" | tr . ' '))" type veth \
    peer name "$port" netns "$hall"
nsenter --net="$hall" ip link set "$port" master hall0 up
ip address add "$address/32" dev eth0
ip link set eth0 up
ip route add default dev eth0
for word in $interfaces; do
    ip link add name "${word%%=*}" type bridge
    ip address add "${word#*=}/32" dev "${word%%=*}"
    ip link set "${word%%=*}" up
done
hostname "$name"

mount --make-rprivate /
root=$disk/new
mount -t tmpfs -o mode=755,size=1m root "$root"
cd "$root"
mkdir -p usr etc var root home opt srv mnt boot run tmp dev proc sys old .machine .rehearsal
mount -t overlay -o "lowerdir=/usr,upperdir=$disk/usr,workdir=$disk/work" overlay usr
for directory in bin sbin lib lib32 lib64 libx32; do
    [ ! -e "/usr/$directory" ] || ln -s "usr/$directory" "$directory"
done
for directory in etc var root home opt srv mnt boot .machine; do mount --bind "$disk/$directory" "$directory"; done
# The tools are modules of this package, found where they lie in it.
played=.rehearsal/rehearsal/metal/tools
mkdir -p "$played"
mount --bind "$tools" "$played"
mount -o remount,bind,ro "$played"
case $prefix in
/usr | /usr/*) ;;
*) mkdir -p "./$prefix" && mount --bind "$prefix" "./$prefix" && mount -o remount,bind,ro "./$prefix" ;;
esac
mount -t tmpfs -o mode=755,size=8m run run
mount -t tmpfs -o mode=1777,size=16m tmp tmp
mount -t tmpfs -o mode=755,size=1m dev dev
for device in null zero full random urandom tty; do : >"dev/$device" && mount --bind "/dev/$device" "dev/$device"; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t proc proc proc
cp -a "$disk/kernel" run/.kernel
for file in cmdline meminfo; do mount --bind "run/.kernel/$file" "proc/$file"; done
mount --bind run/.kernel/sys proc/sys
mount --bind "$disk/sys" sys

pivot_root . old
umount -l old
rmdir old
# What would reach the machine around: modules, clock, reboot, devices, raw memory, mounts.
exec setpriv --bounding-set=-sys_module,-sys_time,-sys_boot,-mknod,-sys_rawio,-sys_admin,-syslog,-bpf,-perfmon,-net_admin,-sys_resource,-wake_alarm,-block_suspend,-ipc_lock,-lease,-linux_immutable,-mac_admin,-mac_override,-net_raw,-sys_nice,-sys_pacct,-sys_ptrace,-sys_tty_config \
    --inh-caps=-all /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    /bin/sh "/$played/init.sh"
