# shellcheck shell=bash
# What this machine's targets of Lustre do, for Prometheus, where somebody asks (monitoring.fileSystem): a script and its unit.
# Reads GPUCLUSTER_LUSTRE_RATES: lines `MODE PATH BASE64` of files below the first two; nothing where nobody asks.

LUSTRE_RATES_FILES="/usr/local/lib/gpucluster/exposed.py /usr/local/lib/gpucluster/targets.py
    /etc/systemd/system/gpucluster-lustre-rates.service"

lustre_rates_apply() {
    needs LUSTRE_RATES
    if [ -z "$GPUCLUSTER_LUSTRE_RATES" ]; then
        lustre_rates_undo
        return 0
    fi
    given_files "$GPUCLUSTER_LUSTRE_RATES" gpucluster-lustre-rates.service
    keep_running gpucluster-lustre-rates.service
    restart_pending gpucluster-lustre-rates.service
}

lustre_rates_undo() {
    local path
    release gpucluster-lustre-rates.service
    for path in $LUSTRE_RATES_FILES; do remove_file "$path"; done
}
