# shellcheck shell=bash
# What a machine with GPUs is asked before, between and after jobs. Each check prints one sentence and fails, or is silent.
# machine.conf beside it says what is right: GPUS, LINKS, SHARED, XIDS.

# Slurm starts these programs without a search path (Slurm documentation, Prolog and Epilog Guide).
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GPUS=0 LINKS=0 SHARED=/ XIDS=""
# shellcheck source=/dev/null
[ -r "$here/machine.conf" ] && . "$here/machine.conf"
SEEN=${SEEN:-/run/gpucluster-xids}

it_is_told() {
  [ -r "$here/machine.conf" ] && return 0
  echo "$here/machine.conf is missing: it says what this machine should have; run make slurm again"
  return 1
}

gpus_are_there() {
  local found
  [ "$GPUS" -gt 0 ] || return 0
  found=$(timeout 60 nvidia-smi --query-gpu=uuid --format=csv,noheader 2>/dev/null | grep -c '^GPU-')
  [ "$found" -eq "$GPUS" ] && return 0
  echo "nvidia-smi shows $found GPUs of $GPUS"
  return 1
}

# A failed remap is a GPU for its maker. Cards for desktops have no rows to remap and answer [N/A].
memory_is_sound() {
  local lines
  [ "$GPUS" -gt 0 ] || return 0
  lines=$(timeout 60 nvidia-smi --query-remapped-rows=gpu_uuid,remapped_rows.failure --format=csv,noheader 2>/dev/null)
  if grep -Eq ', *(Yes|1)$' <<<"$lines"; then
    echo "row remap failed on $(grep -E ', *(Yes|1)$' <<<"$lines" | cut -d, -f1 | paste -sd ' ')"
    return 1
  fi
}

# XIDs that a reset or a person has to follow, since the last look or the boot.
driver_is_quiet() {
  local since=() lines code
  [ "$GPUS" -gt 0 ] || return 0
  [ -e "$SEEN" ] && since=(--since "@$(stat -c %Y "$SEEN")")
  lines=$(journalctl --dmesg --boot --output cat --no-pager "${since[@]}" 2>/dev/null | grep 'NVRM: Xid')
  touch "$SEEN"
  for code in $XIDS; do
    if grep -Eq "NVRM: Xid \([^)]*\): $code," <<<"$lines"; then
      echo "XID $code in the kernel's log"
      return 1
    fi
  done
}

# DCGM looks at nothing before it is told to; -s a is all that it can watch. A warning drains nobody.
dcgm_is_content() {
  local said
  [ "$GPUS" -gt 0 ] || return 0
  if ! command -v dcgmi >/dev/null; then
    return 0
  fi
  said=$(timeout 60 dcgmi health -g 0 -c 2>&1)
  if grep -q 'watches not enabled' <<<"$said"; then
    timeout 60 dcgmi health -g 0 -s a >/dev/null 2>&1
    said=$(timeout 60 dcgmi health -g 0 -c 2>&1)
  fi
  if grep 'Overall Health' <<<"$said" | grep -Eq 'Healthy|Warning'; then
    return 0
  fi
  echo "DCGM: $(grep 'Overall Health' <<<"$said" | tr -d '|' | xargs || true)"
  return 1
}

links_are_up() {
  local state up=0
  [ "$LINKS" -gt 0 ] || return 0
  for state in "${SYS:-/sys}"/class/infiniband/*/ports/*/state; do
    [ -e "$state" ] && grep -q ACTIVE "$state" && up=$((up + 1))
  done
  [ "$up" -ge "$LINKS" ] && return 0
  echo "$up links of $LINKS are up"
  return 1
}

files_are_mounted() {
  mountpoint -q "$SHARED" && return 0
  echo "$SHARED is not mounted"
  return 1
}

# The first sentence of those that are asked; nothing if all is well.
ask() {
  local check
  for check in it_is_told "$@"; do
    "$check" || return 1
  done
}
