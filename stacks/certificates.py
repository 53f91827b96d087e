"""cert-manager, on any platform: for the gateway's hostnames and for Katib's webhooks."""

from collections.abc import Mapping

import pulumi

from catalogue import versions
from components.gateway.cert_manager import ACCOUNT, cert_manager_values
from components.platform.charts import Chart, ChartArgs
from planner.types import Plan
from stacks.charts import chart_source
from stacks.namespaces import CERTIFICATES
from stacks.platform import Platform


def deploy_certificates(
    plan: Plan,
    platform: Platform,
    namespaces: Mapping[str, pulumi.Output[str]],
    monitors: pulumi.Resource,
    inside: pulumi.ResourceOptions,
) -> pulumi.Resource | None:
    """What shows that it takes orders; None where nothing has certificates. Where it writes records, its pods come
    after the right to do so, which only new pods are given.
    """
    if not plan.certificates:
        return None
    namespace, acme = namespaces[CERTIFICATES], plan.gateway.acme if plan.gateway else None
    records = bool(platform.zones and acme and acme.zone)
    values = cert_manager_values(CERTIFICATES, gateway=plan.gateway is not None, records=records)
    if platform.zones and plan.gateway and acme and acme.zone:
        account = platform.zones.writer(
            "certificates-identity",
            zone=acme.zone,
            hostnames=list(plan.gateway.hostnames.values()),
            namespace=namespace,
            account=ACCOUNT,
            opts=inside,
        )
        values["serviceAccount"] = {"name": account}
    chart = ChartArgs(
        source=chart_source(versions.CERT_MANAGER, plan.supply),
        namespace=namespace,
        values=values,
        after=[platform.cluster.ready, monitors],
    )
    return Chart("cert-manager", chart, inside).release
