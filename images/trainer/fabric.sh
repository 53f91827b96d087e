#!/usr/bin/env bash
# fabric.sh efa|infiniband|roce|none [DIR...]: ends the image's build if NCCL could not reach the fabric from it.
#
# Looks below the DIRs, or where loaders look and vendors install. EFA needs aws-ofi-nccl, which NCCL loads by the name
# libnccl-net-ofi.so (older ones: libnccl-net.so), and libfabric; InfiniBand and RoCE need libibverbs and the driver of
# ConnectX cards. A library that lacks another one is as good as none.
set -euo pipefail

fabric=${1:?usage: fabric.sh efa|infiniband|roce|none [DIR...]}
shift
if [ $# -eq 0 ]; then
  set -- /opt/amazon /opt/aws-ofi-nccl /opt/mellanox /usr/lib /usr/local/lib
fi

found() { # a library by the pattern of its name, the first there is
  local directory
  for directory; do
    [ -d "$directory" ] && find "$directory" -name "$pattern" \( -type f -o -type l \) -print
  done | sort | head -n 1
}

needed() { # PATTERN WHAT REMEDY DIR...
  local pattern=$1 what=$2 remedy=$3 library lacking
  shift 3
  library=$(found "$@" || true)
  if [ -z "$library" ]; then
    echo "error: $fabric: the image lacks $what ($pattern): $remedy" >&2
    exit 1
  fi
  lacking=$(ldd "$library" 2>&1 | grep 'not found' || true)
  if [ -n "$lacking" ]; then
    echo "error: $fabric: $library cannot be loaded: $lacking" >&2
    exit 1
  fi
  echo "$fabric: $what is $library"
}

case $fabric in
  efa)
    remedy='take a base that has it, or run efa_installer.sh -y -g --skip-kmod in the Dockerfile'
    needed 'libnccl-net*.so*' aws-ofi-nccl "$remedy" "$@"
    needed 'libfabric.so*' libfabric "$remedy" "$@"
    ;;
  infiniband | roce)
    remedy='install rdma-core (libibverbs1, ibverbs-providers) in the Dockerfile'
    needed 'libibverbs.so*' libibverbs "$remedy" "$@"
    needed 'libmlx5*.so*' "the driver of ConnectX cards" "$remedy" "$@"
    ;;
  none) ;;
  *)
    echo "error: $fabric is no fabric: efa, infiniband, roce or none" >&2
    exit 2
    ;;
esac
