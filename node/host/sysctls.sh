# shellcheck shell=bash
# Kernel parameters, now and at each boot (sysctl.d(5)).
# Reads GPUCLUSTER_SYSCTLS: lines `name=value`.

sysctls_apply() {
    local name value
    needs SYSCTLS
    printf '%s\n' "$GPUCLUSTER_SYSCTLS" | sed '/^$/d' | write_file /etc/sysctl.d/99-gpucluster.conf 644
    while IFS='=' read -r name value; do
        [ -n "$name" ] || continue
        sysctls_hold "$name" "$value"
    done <<<"$GPUCLUSTER_SYSCTLS"
}

# sysctls_hold NAME VALUE: what it was is kept for the undoing; several numbers are separated by tabs in the kernel.
sysctls_hold() {
    local now
    now=$(sysctl -n "$1" 2>/dev/null | tr -s '[:blank:]' ' ') || fail "the kernel has no parameter $1: is its module loaded?"
    [ "$now" != "$2" ] || return 0
    grep -qs "^$1=" "$GPUCLUSTER_STATE/sysctls" || printf '%s=%s\n' "$1" "$now" >>"$GPUCLUSTER_STATE/sysctls"
    sysctl -q -w "$1=$2" || fail "$1 does not take the value $2"
    changed "$1=$2"
}

sysctls_undo() {
    local line
    remove_file /etc/sysctl.d/99-gpucluster.conf
    [ -e "$GPUCLUSTER_STATE/sysctls" ] || return 0
    while read -r line; do
        sysctl -q -w "$line" || true
        changed "$line"
    done <"$GPUCLUSTER_STATE/sysctls"
    rm -f "$GPUCLUSTER_STATE/sysctls"
}
