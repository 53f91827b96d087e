"""The fabric between nodes: InfiniBand and RoCE as node_exporter's infiniband collector counts them, EFA as its own
counters do (names of AWS' node exporter for EFA, whose hardware counters the collector does not know).
"""

from monitoring.rule import Group, Recording, in_pool

_PORT = ("node", "device", "port")


def _of_port(what: str, expression: str, **constant: str) -> Recording:
    return Recording(
        f"gpucluster:fabric:{what}",
        in_pool(f"max by ({', '.join(_PORT)}) ({expression})"),
        (*_PORT, "pool"),
        constant=constant,
    )


def _rates(what: str, metrics: dict[str, str]) -> tuple[Recording, ...]:
    return tuple(_of_port(what, f"rate({metric}[5m])", kind=kind) for kind, metric in metrics.items())


_SEEN = "count by (node) (count by (node, device) (node_infiniband_info))"
_NONE_SEEN = "0 * max by (node) (node_memory_MemTotal_bytes)"

FABRIC = Group(
    name="fabric",
    rules=(
        _of_port("link_up", "node_infiniband_state_id == bool 4"),
        _of_port("link_downed", "node_infiniband_link_downed_total"),
        # A port that was never active is one without a cable. EFA's driver says ACTIVE without end: a card that is lost
        # leaves the system, and the node has fewer devices than it offered when the plugin started.
        Recording(
            "gpucluster:fabric:links_missing",
            in_pool(
                "(count by (node) (gpucluster:fabric:link_up == 0"
                " and max_over_time(gpucluster:fabric:link_up[1d]) == 1))"
                ' or (max by (node) (kube_node_status_capacity{resource="vpc_amazonaws_com_efa"})'
                f" - on (node) ({_SEEN} or {_NONE_SEEN}) > 0)"
            ),
            ("node", "pool"),
        ),
        _of_port(
            "received_bytes_per_second",
            "rate(node_infiniband_port_data_received_bytes_total[5m]) or rate(node_amazonefa_rx_bytes[5m])",
        ),
        _of_port(
            "transmitted_bytes_per_second",
            "rate(node_infiniband_port_data_transmitted_bytes_total[5m]) or rate(node_amazonefa_tx_bytes[5m])",
        ),
        *_rates(
            "errors_per_second",
            {
                "symbol": "node_infiniband_symbol_error_total",
                "recovery": "node_infiniband_link_error_recovery_total",
                "integrity": "node_infiniband_local_link_integrity_errors_total",
                "overrun": "node_infiniband_excessive_buffer_overrun_errors_total",
                "receive": "node_infiniband_port_errors_received_total",
                "ack_timeout": "node_infiniband_local_ack_timeout_errors_total",
                "rdma_read": "node_amazonefa_rdma_read_wr_err",
                "rdma_write": "node_amazonefa_rdma_write_wr_err",
            },
        ),
        *_rates(
            "drops_per_second",
            {
                "received": "node_infiniband_port_discards_received_total",
                "transmitted": "node_infiniband_port_discards_transmitted_total",
                "out_of_buffer": "node_infiniband_out_of_buffer_drops_total",
                "efa": "node_amazonefa_rx_drops",
            },
        ),
    ),
)
