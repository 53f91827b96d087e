"""Batch scripts of nccl-tests that check each pool's bandwidth against the plan.

Sizes, spans and lines are those of the plan's gates. A test reads its result from nccl-tests' own summary
(src/common.cu: "# Avg bus bandwidth    : %g").
"""

from collections.abc import Iterator

from planner.interconnect import Gate
from planner.metal_types import MetalPlan
from planner.slurm_types import NodesPlan, SlurmPlan
from slurm.containers import measuring
from slurm.jobs import between, exports

PROGRAMS = {
    "all-reduce": "all_reduce_perf",
    "all-gather": "all_gather_perf",
    "reduce-scatter": "reduce_scatter_perf",
}
_MINUTES = 30

_FUNCTIONS = """\
failed=$(mktemp)
trap 'rm -f "$failed"' EXIT

# measure PROGRAM NODES GIB WARN FAIL, the last two - where nothing is demanded: all machines at once, so many together.
measure() {
  local at
  mapfile -t all < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
  for ((at = 0; at + $2 <= ${#all[@]}; at += $2)); do
    together "$(IFS=,; echo "${all[*]:at:$2}")" "$@" &
  done
  wait
}

together() {
  local names=$1 program=$2 count=$3 gib=$4 warn=$5 fail=$6 said rate
  said=$(srun --exact --nodes="$count" --nodelist="$names" --ntasks="$((count * GPUS))" --ntasks-per-node="$GPUS" \\
    --cpus-per-task="$SLURM_CPUS_PER_TASK" --mpi=pmix apptainer exec --nv "$IMAGE" \\
    "$program" -b "${gib}G" -e "${gib}G" -g 1 -n 20 -w 5) || true
  rate=$(awk '/^# Avg bus bandwidth/ {print $6}' <<<"$said")
  judge "$program" "$names" "$gib" "$warn" "$fail" "${rate:-none}" "$said"
}

judge() {
  local program=$1 names=$2 gib=$3 warn=$4 fail=$5 rate=$6 said=$7 verdict=pass
  if [ "$rate" = none ] || grep -q '^# Out of bounds values : [1-9]' <<<"$said"; then
    verdict=fail
  elif [ "$fail" = - ]; then
    verdict=recorded
  elif awk -v rate="$rate" -v line="$fail" 'BEGIN {exit !(rate < line)}'; then
    verdict=fail
  elif awk -v rate="$rate" -v line="$warn" 'BEGIN {exit !(rate < line)}'; then
    verdict=warn
  fi
  echo "$verdict $program $gib GiB $names: $rate GB/s (warn below $warn, fail below $fail)"
  if [ "$verdict" = fail ]; then
    echo "$names" >>"$failed"
    echo "  scontrol update nodename=$names state=drain reason='$program $rate GB/s'"
  fi
}
"""


def batch(plan: MetalPlan, slurm: SlurmPlan, nodes: NodesPlan) -> str | None:
    """The script for all machines of a pool; None where the plan demands nothing, or no run says in which image."""
    runs = [run for run in plan.runs.values() if run.pool == nodes.pool]
    tests = [gate for gate in plan.gates.get(nodes.pool, ()) if gate.test in PROGRAMS and gate.size_gib is not None]
    if not tests or not runs:
        return None
    image = f"{slurm.shared_path}/images/{measuring(plan.supply.image(runs[0].image))}.sif"
    asked = {
        "job-name": f"nccl-{nodes.pool}",
        "partition": nodes.pool,
        "account": runs[0].queue,
        "qos": "training",
        "nodes": len(nodes.hosts),
        "ntasks-per-node": nodes.gpus,
        "gpus-per-node": f"{nodes.gpu_type}:{nodes.gpus}",
        "cpus-per-task": nodes.job_cpus // nodes.gpus,
        "mem": f"{nodes.job_memory_mib}M",
        "time": _MINUTES,
        "output": "%x-%j.out",
    }
    return "\n".join(
        [
            "#!/bin/bash",
            *(f"#SBATCH --{key}={value}" for key, value in asked.items()),
            "set -uo pipefail",
            "",
            f"GPUS={nodes.gpus}",
            f"IMAGE={image}",
            *exports(between(slurm)),
            _FUNCTIONS,
            *_calls(tests),
            '[ ! -s "$failed" ]',
            "",
        ]
    )


def _calls(tests: list[Gate]) -> Iterator[str]:
    for gate in tests:
        line = gate.threshold
        warn, fail = ("-" if each is None else f"{each:g}" for each in (line.warn, line.fail))
        yield f"measure {PROGRAMS[gate.test]} {gate.nodes} {gate.size_gib:g} {warn} {fail}"
