"""Certificates of AWS Certificate Manager at the load balancer of a gateway: requested, or there already."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from components.aws.front import FrontCertificate, FrontCertificateArgs, ending_tls


@dataclass(frozen=True, kw_only=True)
class CertificateManager:
    """The account's certificates; its id may be known only when AWS answers."""

    account_id: pulumi.Output[str]

    def ending_tls(
        self,
        name: str,
        *,
        hostnames: Mapping[str, str],
        zone: str | None,
        certificate: str | None,
        opts: pulumi.ResourceOptions,
    ) -> Mapping[str, pulumi.Input[str]]:
        if certificate is not None:
            return ending_tls(self.account_id.apply(lambda account: of_account(certificate, account)))
        if zone is None or not hostnames:
            return {}
        return ending_tls(FrontCertificate(name, FrontCertificateArgs(zone=zone, hostnames=hostnames), opts).arn)


def of_account(certificate: str, account: str) -> str:
    """The ARN. Raises RunError if it is another account's, whose certificates a load balancer does not find."""
    theirs = certificate.split(":")[4]
    if theirs != account:
        raise pulumi.RunError(
            f"gpucluster:serving.gateway.issuer.certificate: it is one of the account {theirs}, and the stack is "
            f"deployed to {account}; name a certificate of that account, or deploy to the other"
        )
    return certificate
