# shellcheck shell=bash
# Access control services off on every PCIe bridge, at each boot before the kubelet: with them on, traffic between GPUs
# and network cards makes a detour through the root complex (NVIDIA NCCL user guide, troubleshooting, PCI access control).
# The control word lies six bytes into the extended capability; setpci(8) writes it. Virtual machines are left alone.

acs_apply() {
    if systemd-detect-virt --quiet --vm; then return 0; fi
    acs_program | write_file /usr/local/sbin/gpucluster-acs 755 gpucluster-acs.service
    acs_unit | write_file /etc/systemd/system/gpucluster-acs.service 644 gpucluster-acs.service
    keep_running gpucluster-acs.service
    restart_pending gpucluster-acs.service
    /usr/local/sbin/gpucluster-acs --check || fail "a PCIe bridge keeps access control on: turn it off in the firmware (ACS, or VT-d with ACS)"
}

acs_program() {
    cat <<'PROGRAM'
#!/bin/sh
# Written by gpucluster. Clears the ACS control word of each bridge that has one; with --check only looks.
status=0
for bridge in $(lspci -D -n | awk '$2 ~ /^0604:?$/ {print $1}'); do
    word=$(setpci -s "$bridge" ECAP_ACS+6.w 2>/dev/null) || continue
    [ "$word" = 0000 ] && continue
    if [ "$1" = --check ]; then
        echo "$bridge $word"
        status=1
    else
        setpci -s "$bridge" ECAP_ACS+6.w=0000
    fi
done
exit $status
PROGRAM
}

acs_unit() {
    cat <<'UNIT'
[Unit]
Description=PCIe access control services off (gpucluster)
Before=kubelet.service containerd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/gpucluster-acs

[Install]
WantedBy=multi-user.target
UNIT
}

# The word itself comes back with the next boot.
acs_undo() {
    release gpucluster-acs.service
    remove_file /etc/systemd/system/gpucluster-acs.service
    remove_file /usr/local/sbin/gpucluster-acs
}
