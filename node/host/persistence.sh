# shellcheck shell=bash
# The driver stays loaded between jobs: without it each first job waits for its initialisation, and clocks and power limits
# are forgotten (NVIDIA driver persistence documentation). Reads nothing.

persistence_apply() {
    keep_running nvidia-persistenced.service
    persistence_on && return 0
    nvidia-smi -pm 1 || fail "persistence mode cannot be turned on: see the log"
    persistence_on || fail "nvidia-smi shows no GPU with persistence mode on"
    changed "persistence mode on"
}

# persistence_on: whether there is a GPU, and every one of them has it.
persistence_on() {
    local modes
    modes=$(nvidia-smi --query-gpu=persistence_mode --format=csv,noheader) && [ "$(sort -u <<<"$modes")" = Enabled ]
}

persistence_undo() {
    release nvidia-persistenced.service
}
