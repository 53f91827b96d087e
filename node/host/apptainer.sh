# shellcheck shell=bash
# Apptainer, which runs the images of Slurm's jobs without a daemon. Ubuntu has no package of it: it comes from the
# site's own repositories, else from the project's on Launchpad, whose package also lets AppArmor allow it user namespaces
# (Apptainer administration guide, "Install Ubuntu packages"; AppArmor, unprivileged user namespace restriction).
# Reads nothing.

APPTAINER_ARCHIVE=ppa:apptainer/ppa

apptainer_apply() {
    # shellcheck disable=SC2016 # dpkg-query's own field
    if [ "$(dpkg-query -W -f='${db:Status-Status}' apptainer 2>/dev/null)" = installed ]; then return 0; fi
    if ! apptainer_install; then
        add-apt-repository -y "$APPTAINER_ARCHIVE" ||
            fail "$APPTAINER_ARCHIVE cannot be added: does this host reach Launchpad? else put apptainer into a repository that it has"
        : >"$GPUCLUSTER_STATE/apptainer-archive"
        apptainer_install || fail "apt-get cannot install apptainer: see the log"
    fi
    printf 'apptainer\n' >>"$GPUCLUSTER_STATE/installed"
    changed "apptainer"
}

apptainer_install() {
    DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
        apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 apptainer
}

# The package goes with all others that were installed here (packages).
apptainer_undo() {
    [ -e "$GPUCLUSTER_STATE/apptainer-archive" ] || return 0
    add-apt-repository -y --remove "$APPTAINER_ARCHIVE"
    rm -f "$GPUCLUSTER_STATE/apptainer-archive"
    changed "$APPTAINER_ARCHIVE removed"
}
