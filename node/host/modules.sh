# shellcheck shell=bash
# Kernel modules, now and at each boot (modules-load.d(5)), and those that must not be there (modprobe.d(5)).
# Reads GPUCLUSTER_MODULES and GPUCLUSTER_BLACKLIST: words.

modules_apply() {
    local module
    needs MODULES
    needs BLACKLIST
    # shellcheck disable=SC2086 # words
    printf '%s\n' $GPUCLUSTER_MODULES | write_file /etc/modules-load.d/gpucluster.conf 644
    for module in $GPUCLUSTER_BLACKLIST; do printf 'blacklist %s\n' "$module"; done |
        write_file /etc/modprobe.d/gpucluster.conf 644
    for module in $GPUCLUSTER_BLACKLIST; do
        modules_loaded "$module" && fail "$module is loaded and cannot go while it is in use: reboot this host, then run this again"
    done
    for module in $GPUCLUSTER_MODULES; do
        modules_loaded "$module" && continue
        modprobe "$module" || fail "the kernel $(uname -r) has no module $module: install its package (linux-modules-extra, doca-ofed)"
        changed "$module loaded"
    done
}

# modules_loaded NAME: the kernel writes an underscore where a file has a dash.
modules_loaded() {
    lsmod | grep "^${1//-/_} " >/dev/null
}

# Modules stay loaded: something else may use them by now.
modules_undo() {
    remove_file /etc/modules-load.d/gpucluster.conf
    remove_file /etc/modprobe.d/gpucluster.conf
}
