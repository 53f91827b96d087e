"""Programs of a machine with eight GPUs, as far as the checks ask them. `STATE` tells what is wrong.

Output as the real ones': nvidia-smi by its documentation, the driver's lines by NVIDIA's XID catalogue, dcgmi by
NVIDIA/DCGM, dcgmi/Health.cpp.
"""

_HERE = "#!/bin/bash\nnode=${SLURMD_NODENAME:-$(hostname -s)}\n"

NVIDIA_SMI = (
    _HERE
    + """\
case "$*" in
  *query-gpu=uuid*)
    count=8
    [ -e "$STATE/lost-$node" ] && count=7
    for ((index = 0; index < count; index++)); do echo "GPU-00000000-0000-0000-0000-00000000000$index"; done
    ;;
  *query-remapped-rows*)
    failed=No
    [ -e "$STATE/remap-$node" ] && failed=Yes
    echo "GPU-00000000-0000-0000-0000-000000000000, $failed"
    ;;
  *query-compute-apps*)
    if [ -e "$STATE/left-$node" ]; then cat "$STATE/left-$node"; fi
    ;;
esac
"""
)

JOURNALCTL = (
    _HERE
    + """\
echo "kernel: everything else"
if [ -e "$STATE/xid-$node" ]; then cat "$STATE/xid-$node"; fi
"""
)

DCGMI = (
    _HERE
    + """\
case "$*" in
  *-s*) touch "$STATE/watched-$node" ;;
  *)
    if [ ! -e "$STATE/watched-$node" ]; then
      echo "Error: Health watches not enabled. Please enable watches. "
      exit 255
    fi
    health=Healthy
    [ -e "$STATE/dcgm-$node" ] && health=$(cat "$STATE/dcgm-$node")
    echo "| Overall Health            | $health |"
    ;;
esac
"""
)

APPTAINER = """\
#!/bin/bash
{
  echo "$*"
  env
} >"$(dirname "$(dirname "$SLURM_CONF")")/told/run-$SLURMD_NODENAME"
"""

LOGGER = "#!/bin/bash\n"

PROGRAMS = {
    "nvidia-smi": NVIDIA_SMI,
    "journalctl": JOURNALCTL,
    "dcgmi": DCGMI,
    "apptainer": APPTAINER,
    "logger": LOGGER,
}
