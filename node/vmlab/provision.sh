#!/bin/bash
# Prepares a virtual machine of a lab, as root: names of all of them, and the shared files from the one that has them.
# ROLE is mgmt, compute or storage, STORAGE an address, NETWORK the lab's range, MACHINES "address name,address name".
set -euo pipefail

begin="# machines of the lab"
sed -i "/^$begin/,/^$begin, end/d" /etc/hosts
{
  echo "$begin"
  tr ',' '\n' <<<"$MACHINES"
  echo "$begin, end"
} >>/etc/hosts

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
if [ "$ROLE" = storage ]; then
  apt-get install -qy nfs-kernel-server
  mkdir -p /export
  chmod 1777 /export
  echo "/export $NETWORK(rw,sync,no_subtree_check)" >/etc/exports.d/lab.exports
  exportfs -ra
elif [ -n "$STORAGE" ]; then
  apt-get install -qy nfs-common
  mkdir -p /mnt/shared
  grep -q ' /mnt/shared ' /etc/fstab || echo "$STORAGE:/export /mnt/shared nfs defaults,_netdev 0 0" >>/etc/fstab
  mountpoint -q /mnt/shared || mount /mnt/shared
fi
