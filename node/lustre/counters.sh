#!/bin/bash
# Prints what LNet has carried by each of its networks, in Prometheus' text format. The first argument is how many
# interfaces of EFA there should be.
# Source: Lustre manual, lnetctl: `net show -v` has for each interface its status, and counts of messages, not of bytes.
set -euo pipefail

lnetctl net show -v | awk -v wanted="$1" '
    /^ *- net type:/ { net = $NF; known[net] }
    /^ *status: up$/ { up[net]++ }
    /^ *send_count:/ { messages[net, "sent"] += $2 }
    /^ *recv_count:/ { messages[net, "received"] += $2 }
    /^ *drop_count:/ { messages[net, "dropped"] += $2 }
    END {
        printf "node_lnet_interfaces_wanted{net=\"efa\"} %d\n", wanted
        known["efa"]; known["tcp"]; delete known["lo"]
        split("sent received dropped", directions)
        for (net in known) {
            printf "node_lnet_interfaces_up{net=\"%s\"} %d\n", net, up[net]
            for (each = 1; each <= 3; each++) {
                printf "node_lnet_messages_total{net=\"%s\",direction=\"%s\"} %.0f\n",
                    net, directions[each], messages[net, directions[each]]
            }
        }
    }'
