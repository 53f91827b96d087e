# shellcheck shell=bash
# On boxes with NVSwitch CUDA works only while the fabric manager runs, in just the driver's version (NVIDIA Fabric Manager
# user guide, installation). Reads nothing.

fabric_manager_apply() {
    local driver have
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | sort -u) || fail "nvidia-smi does not answer: is the driver loaded?"
    [ "$(printf '%s\n' "$driver" | wc -l)" = 1 ] || fail "nvidia-smi names more than one driver version: $(printf '%s' "$driver" | tr '\n' ' ')"
    # shellcheck disable=SC2016 # dpkg-query's own field
    have=$(dpkg-query -W -f='${Version}\n' 'nvidia-fabricmanager*' 2>/dev/null | grep -v '^$' | head -n 1 || true)
    [ -n "$have" ] || fail "no fabric manager is installed: add nvidia-fabricmanager=$driver to this host's packages"
    # Debian writes 580.126.20-1 or 1:580.126.20-0ubuntu1 for the driver's 580.126.20.
    have=${have#*:}
    [ "${have%%-*}" = "$driver" ] || fail "the fabric manager is ${have%%-*} and the driver $driver: install the same version of both"
    keep_running nvidia-fabricmanager.service
}

fabric_manager_undo() {
    release nvidia-fabricmanager.service
}
