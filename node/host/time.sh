# shellcheck shell=bash
# chrony with the site's servers; a host whose clock is off joins nothing: certificates and leases are read by the clock.
# Reads GPUCLUSTER_NTP (words: servers) and GPUCLUSTER_MAX_SKEW (seconds).

time_apply() {
    local server known off
    needs NTP
    needs MAX_SKEW
    for server in $GPUCLUSTER_NTP; do printf 'server %s iburst\n' "$server"; done |
        write_file /etc/chrony/sources.d/gpucluster.sources 644 chrony.service
    keep_running chrony.service
    restart_pending chrony.service
    # waitsync TRIES CORRECTION SKEW INTERVAL, chronyc(1)
    chronyc waitsync 6 "$GPUCLUSTER_MAX_SKEW" 0 5 >/dev/null || true
    # The fifth field of `tracking` is what the clock is off by now, the last one whether that is known.
    known=$(chronyc -c tracking) || fail "chronyd does not answer: journalctl -u chrony"
    case "$known" in *",Not synchronised") fail "chronyd has no time from $GPUCLUSTER_NTP, so the clock may be off: are they reached? chronyc sources" ;; esac
    off=$(printf '%s\n' "$known" | cut -d, -f 5)
    awk -v off="$off" -v most="$GPUCLUSTER_MAX_SKEW" 'BEGIN {exit !(off <= most && -off <= most)}' ||
        fail "the clock is $off s off its servers ($GPUCLUSTER_NTP): are they reached? then chronyc makestep"
}

time_undo() {
    remove_file /etc/chrony/sources.d/gpucluster.sources chrony.service
    restart_running chrony.service
    release chrony.service
}
