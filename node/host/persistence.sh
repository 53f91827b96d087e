# shellcheck shell=bash
# The driver stays loaded between jobs: without it each first job waits for its initialisation, and clocks and power limits
# are forgotten (NVIDIA driver persistence documentation). Reads nothing.

persistence_apply() {
    keep_running nvidia-persistenced.service
    if nvidia-smi --query-gpu=persistence_mode --format=csv,noheader | grep -qv '^Enabled$'; then
        nvidia-smi -pm 1 || fail "persistence mode cannot be turned on: see the log"
        changed "persistence mode on"
    fi
    nvidia-smi --query-gpu=persistence_mode --format=csv,noheader | grep -q '^Enabled$' || fail "nvidia-smi shows no GPU with persistence mode on"
}

persistence_undo() {
    release nvidia-persistenced.service
}
