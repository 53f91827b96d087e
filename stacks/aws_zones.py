"""Hosted zones of Route 53, in which an authority finds the tokens of hostnames (DNS-01)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.aws.pod_identity import PodIdentity, PodIdentityArgs, statement_document


def answering(*, partition: str, zone: str, hostnames: Sequence[str]) -> list[dict[str, Any]]:
    """Statements that allow to write the tokens of these hostnames in a zone, and to ask when they are to be seen.

    Sources: cert-manager 1.21.1, pkg/issuer/acme/dns/route53/route53.go: with a zone it makes these two calls alone;
    Route 53 developer guide, "Using IAM policy conditions for fine-grained access control": names are in small letters
    without a dot at the end.
    """
    records = "route53:ChangeResourceRecordSets"
    names = [f"_acme-challenge.{each}" for each in sorted(hostnames)]
    return [
        {
            "Sid": "WriteTokens",
            "Effect": "Allow",
            "Action": records,
            "Resource": f"arn:{partition}:route53:::hostedzone/{zone}",
            "Condition": {
                "ForAllValues:StringEquals": {
                    f"{records}NormalizedRecordNames": names,
                    f"{records}RecordTypes": ["TXT"],
                }
            },
        },
        {
            "Sid": "SeeWhenWritten",
            "Effect": "Allow",
            "Action": "route53:GetChange",
            "Resource": f"arn:{partition}:route53:::change/*",
        },
    ]


@dataclass(frozen=True, kw_only=True)
class HostedZones:
    """Pods of the cluster get their rights by EKS Pod Identity, and the region from its agent."""

    cluster_name: pulumi.Output[str]
    partition: pulumi.Output[str]

    def writer(
        self,
        name: str,
        *,
        zone: str,
        hostnames: Sequence[str],
        namespace: pulumi.Input[str],
        account: str,
        opts: pulumi.ResourceOptions,
    ) -> pulumi.Output[str]:
        document = self.partition.apply(
            lambda partition: statement_document(answering(partition=partition, zone=zone, hostnames=hostnames))
        )
        args = PodIdentityArgs(
            cluster_name=self.cluster_name, namespace=namespace, service_account=account, document=document
        )
        return PodIdentity(name, args, opts).service_account

    def records(self, zone: str) -> Mapping[str, Any]:
        return {"route53": {"hostedZoneID": zone}}
