"""Model services, by the Service that is scraped."""

from monitoring.rule import Group, Recording

_BY = "namespace, service"
_SERVED = 'namespace="inference",handler=~"/v1/.+"'


def _of_service(what: str, expression: str, **constant: str) -> Recording:
    return Recording(f"gpucluster:serving:{what}", expression, ("namespace", "service"), constant=constant)


def _quantiles(what: str, histogram: str) -> tuple[Recording, ...]:
    return tuple(
        _of_service(
            what,
            f"histogram_quantile({quantile}, sum by ({_BY}, le) (rate({histogram}_bucket[5m])))",
            quantile=quantile,
        )
        for quantile in ("0.5", "0.95")
    )


def _error_ratio(window: str) -> Recording:
    """The part that was answered with 5xx; nothing where nothing was asked."""
    every = f"sum by ({_BY}) (rate(http_requests_total{{{_SERVED}}}[{window}]))"
    failed = f'sum by ({_BY}) (rate(http_requests_total{{{_SERVED},status="5xx"}}[{window}]))'
    return _of_service("error_ratio", f"({failed} or 0 * {every}) / ({every} > 0)", window=window)


SERVING = Group(
    name="serving",
    rules=(
        _of_service("requests_running", f"sum by ({_BY}) (vllm:num_requests_running)"),
        _of_service("requests_waiting", f"sum by ({_BY}) (vllm:num_requests_waiting)"),
        _of_service("kv_cache_usage_ratio", f"max by ({_BY}) (vllm:kv_cache_usage_perc)"),
        *_quantiles("time_to_first_token_seconds", "vllm:time_to_first_token_seconds"),
        *_quantiles("inter_token_seconds", "vllm:inter_token_latency_seconds"),
        *_quantiles("queue_seconds", "vllm:request_queue_time_seconds"),
        _of_service("tokens_per_second", f"sum by ({_BY}) (rate(vllm:generation_tokens_total[5m]))"),
        _of_service("requests_per_second", f"sum by ({_BY}) (rate(http_requests_total{{{_SERVED}}}[5m]))"),
        _error_ratio("5m"),
        _error_ratio("1h"),
        *(
            _of_service(
                what,
                f'max by (namespace, service) (label_replace({metric}{{namespace="inference"}}'
                ', "service", "$1", "deployment", "(.+)"))',
            )
            for what, metric in (
                ("replicas_ready", "kube_deployment_status_replicas_ready"),
                ("replicas_wanted", "kube_deployment_spec_replicas"),
            )
        ),
        # Prometheus calls KEDA's own label of the namespace so, beside that of the pod that it reads.
        _of_service(
            "scaler_errors_per_second",
            "max by (namespace, service) (label_replace(label_replace(sum by (exported_namespace, scaledObject)"
            ' (rate(keda_scaler_detail_errors_total{type="scaledobject"}[5m])), "namespace", "$1",'
            ' "exported_namespace", "(.+)"), "service", "$1", "scaledObject", "(.+)"))',
        ),
    ),
)
