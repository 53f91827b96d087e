# shellcheck shell=bash
# RoCE v2 that loses nothing: a port goes by the DSCP of packets and pauses one priority (dcb-app(8), dcb-pfc(8); trust in
# DSCP comes with the first entry: Linux, mlx5 en_dcbnl.c), connections of rdma_cm carry the DSCP
# (Documentation/ABI/testing/configfs-rdma_cm), and the firmware answers marks of congestion (mstconfig(1)). All but the
# firmware is forgotten whenever a driver loads, in a container too: udev sets it again.
# Reads GPUCLUSTER_RAILS: words `0000:18:00.0=rail0`, GPUCLUSTER_ROCE: DSCP:PRIORITY, GPUCLUSTER_ROCE_CNP: the DSCP of
# answers to marks.

roce_apply() {
    local word port device late=
    needs RAILS
    needs ROCE
    needs ROCE_CNP
    roce_program | write_file /usr/local/sbin/gpucluster-roce 755
    roce_rules | write_file /etc/udev/rules.d/71-gpucluster-roce.rules 644
    for word in $GPUCLUSTER_RAILS; do
        port=${word%%=*}
        if ! roce_holds "${word#*=}"; then
            /usr/local/sbin/gpucluster-roce net "${word#*=}" || true
            roce_holds "${word#*=}" ||
                fail "${word#*=} does not take what RoCE needs (dcb -N pfc show dev ${word#*=}): is it an Ethernet port of NVIDIA's?"
            changed "${word#*=}"
        fi
        for device in /sys/bus/pci/devices/"$port"/infiniband/*; do
            [ -e "$device" ] || fail "$port has no RDMA device: is its driver loaded?"
            roce_carried "${device##*/}" && continue
            /usr/local/sbin/gpucluster-roce rdma "${device##*/}"
            changed "${device##*/}"
        done
        roce_answers "$port" || late="$late ${word#*=}"
    done
    [ -z "$late" ] || fail "the firmware answers marks of congestion at${late} after a reboot: reboot this host"
}

# roce_holds INTERFACE: whether the DSCP has its priority, which alone is paused.
roce_holds() {
    local on
    dcb -N app show dev "$1" dscp-prio | grep -qw -- "$GPUCLUSTER_ROCE" || return 1
    on=$(dcb pfc show dev "$1" prio-pfc | grep -o '[0-7]:on' || true)
    [ "$on" = "${GPUCLUSTER_ROCE#*:}:on" ]
}

roce_carried() {
    [ "$(cat "/sys/kernel/config/rdma_cm/$1/ports/1/default_roce_tos" 2>/dev/null)" = "$(roce_class)" ]
}

# roce_class: the traffic class of an IP header: the DSCP above two bits, which say that marks are understood.
roce_class() { echo $((${GPUCLUSTER_ROCE%:*} * 4 + 2)); }

# roce_answers PORT: whether its firmware answers marks of every priority now; sets what it does from the next boot.
roce_answers() {
    local said at=P$((${1##*.} + 1)) wanted
    wanted="ROCE_CC_PRIO_MASK_$at=255 CNP_DSCP_$at=$GPUCLUSTER_ROCE_CNP"
    said=$(mstconfig --dev "$1" --enable_verbosity query "ROCE_CC_PRIO_MASK_$at" "CNP_DSCP_$at") ||
        fail "the firmware of $1 cannot be asked (mstconfig -d $1 query): is the card one of NVIDIA's?"
    if ! roce_column "$said" 0 "$wanted"; then
        # shellcheck disable=SC2086 # two words
        mstconfig --dev "$1" --yes set $wanted || fail "the firmware of $1 does not take $wanted: mstconfig -d $1 query"
        changed "firmware of $1"
    fi
    roce_column "$said" 1 "$wanted"
}

# roce_column TABLE BACK WANTED: whether a column of mstconfig's, counted from the last (next boot, current), is as wanted.
roce_column() {
    awk -v back="$2" -v wanted="$3" '
        {for (at = 1; at < NF; at++) if ($at ~ /_P[12]$/) have[$at] = $(NF - back)}
        END {count = split(wanted, words, " ")
             for (at = 1; at <= count; at++) {split(words[at], pair, "="); if (have[pair[1]] != pair[2]) exit 1}}' <<<"$1"
}

roce_program() {
    cat <<PROGRAM
#!/bin/sh
# Written by gpucluster. RoCE of a port without loss: net INTERFACE, or rdma DEVICE.
set -e
case \$1 in
net)
    dcb dcbx set dev "\$2" host ieee
    dcb -N app replace dev "\$2" dscp-prio $GPUCLUSTER_ROCE
    dcb pfc set dev "\$2" prio-pfc all:off ${GPUCLUSTER_ROCE#*:}:on
    ;;
rdma)
    [ -d /sys/kernel/config/rdma_cm ] || modprobe rdma_cm
    mkdir -p "/sys/kernel/config/rdma_cm/\$2"
    echo $(roce_class) >"/sys/kernel/config/rdma_cm/\$2/ports/1/default_roce_tos"
    ;;
esac
PROGRAM
}

roce_rules() {
    local word
    for word in $GPUCLUSTER_RAILS; do
        printf 'SUBSYSTEM=="net", ACTION=="add", KERNELS=="%s", RUN+="/usr/local/sbin/gpucluster-roce net %s"\n' "${word%%=*}" "${word#*=}"
        printf 'SUBSYSTEM=="infiniband", ACTION=="add", KERNELS=="%s", RUN+="/usr/local/sbin/gpucluster-roce rdma %%k"\n' "${word%%=*}"
    done
}

# What ports and firmware hold stays: on other networks nothing carries this DSCP.
roce_undo() {
    remove_file /etc/udev/rules.d/71-gpucluster-roce.rules
    remove_file /usr/local/sbin/gpucluster-roce
}
