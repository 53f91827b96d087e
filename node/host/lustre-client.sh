# shellcheck shell=bash
# How this machine's client of Lustre asks for data, set again at each boot, and the layout of new files.
# Reads GPUCLUSTER_SHARED_PATH, GPUCLUSTER_LUSTRE_PARAMETERS (words NAME=VALUE, as lctl set_param takes them) and
# GPUCLUSTER_LUSTRE_STRIPES: targets of a new file, -1 for all, empty to leave the layout alone. One machine says it for all.

LUSTRE_CLIENT_UNIT=gpucluster-lustre.service

lustre_client_apply() {
    needs SHARED_PATH
    needs LUSTRE_PARAMETERS
    needs LUSTRE_STRIPES
    lustre_client_unit | write_file "/etc/systemd/system/$LUSTRE_CLIENT_UNIT" 644 "$LUSTRE_CLIENT_UNIT"
    if [ -e "$GPUCLUSTER_PENDING/$LUSTRE_CLIENT_UNIT" ]; then systemctl daemon-reload; fi
    keep_running "$LUSTRE_CLIENT_UNIT"
    restart_pending "$LUSTRE_CLIENT_UNIT"
    lustre_client_stripes
}

# lustre_client_stripes: the layout of the directory that is mounted, which new files and directories take over.
lustre_client_stripes() {
    local have
    [ -n "$GPUCLUSTER_LUSTRE_STRIPES" ] || return 0
    have=$(lfs getstripe --directory --stripe-count "$GPUCLUSTER_SHARED_PATH") ||
        fail "lfs cannot read the layout of $GPUCLUSTER_SHARED_PATH: is Lustre mounted there?"
    [ "$have" != "$GPUCLUSTER_LUSTRE_STRIPES" ] || return 0
    lfs setstripe --stripe-count "$GPUCLUSTER_LUSTRE_STRIPES" "$GPUCLUSTER_SHARED_PATH" ||
        fail "lfs cannot stripe $GPUCLUSTER_SHARED_PATH over $GPUCLUSTER_LUSTRE_STRIPES targets: see the log"
    changed "new files striped over $GPUCLUSTER_LUSTRE_STRIPES targets"
}

lustre_client_unit() {
    local mount parameter
    mount=$(systemd-escape --path --suffix=mount "$GPUCLUSTER_SHARED_PATH")
    # With the mount a client's parameters come, and go with it.
    printf '[Unit]\nDescription=Tuning of the Lustre client (gpucluster)\nRequires=%s\nAfter=%s\nBefore=kubelet.service\n\n' "$mount" "$mount"
    printf '[Service]\nType=oneshot\nRemainAfterExit=yes\n'
    for parameter in $GPUCLUSTER_LUSTRE_PARAMETERS; do printf 'ExecStart=/usr/sbin/lctl set_param %s\n' "$parameter"; done
    printf '\n[Install]\nWantedBy=multi-user.target\n'
}

# Parameters stay until the next boot, and the layout of the directory for good: files have it by now.
lustre_client_undo() {
    release "$LUSTRE_CLIENT_UNIT"
    remove_file "/etc/systemd/system/$LUSTRE_CLIENT_UNIT"
}
