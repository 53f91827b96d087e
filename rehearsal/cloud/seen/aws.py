"""The AWS account as the effects see it: boto3 clients on the stand-in's address, and its control routes."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import urllib3
from botocore.config import Config

from rehearsal.cloud.seen import iam
from rehearsal.cloud.seen.hardware import Machine, machine
from rehearsal.cloud.seen.network import Groups, Routes
from rehearsal.keys import Account

Described = dict[str, Any]

CACHE_SECONDS, MOST_SECONDS, SHARE = 0.5, 5.0, 10.0
READ_SECONDS = 60.0


@dataclass(frozen=True)
class Association:
    """A pod identity association: its role's ARN, and when it was made."""

    role: str
    made: datetime


class CloudError(Exception):
    """The stand-in's control route refused or did not answer."""


class Aws:
    """One account in one region. Thread-safe. Reads that many ask for are kept for a moment."""

    def __init__(self, account: Account, region: str) -> None:
        self.url, self.region = account.url, region
        self.variables = account.variables
        self._pool = urllib3.PoolManager(maxsize=8, retries=False)
        self._headers = {"Content-Type": "application/json", **account.headers}
        session = account.session(region)
        config = Config(
            retries={"mode": "standard", "max_attempts": 5},
            max_pool_connections=16,
            read_timeout=READ_SECONDS,
            s3={"addressing_style": "path"},
        )
        self.ec2, self.eks, self.iam, self.efs, self.fsx, self.s3, self.elbv2, self.sts = (
            session.client(service, endpoint_url=self.url, config=config)
            for service in ("ec2", "eks", "iam", "efs", "fsx", "s3", "elbv2", "sts")
        )
        self._cache: dict[object, tuple[float, float, Any]] = {}
        self._look = threading.local()
        self._machines: dict[str, Machine] = {}
        self._lock = threading.Lock()

    # -- the stand-in's control routes

    def control(self, method: str, path: str, body: object = None) -> Any:
        """One call of a private route. Raises CloudError."""
        try:
            response = self._pool.request(
                method,
                f"{self.url}/rehearsal/{path}",
                body=None if body is None else json.dumps(body).encode(),
                headers=self._headers,
                timeout=READ_SECONDS,
            )
        except urllib3.exceptions.HTTPError as error:
            raise CloudError(f"the AWS stand-in at {self.url} does not answer: {error}") from None
        if response.status >= 400:
            raise CloudError(f"{method} /rehearsal/{path}: {response.status} {response.data[:300]!r}")
        return json.loads(response.data or b"null")

    def nodegroups(self, cluster: str) -> list[Described]:
        return [each for each in self.control("GET", "nodegroups") if self._ours(each, cluster)]

    def addons(self, cluster: str) -> list[Described]:
        return [each for each in self.control("GET", "addons") if self._ours(each, cluster)]

    def bootstraps_addons(self, cluster: str) -> bool:
        """Whether EKS installs its self-managed add-ons when it makes the cluster."""
        found = (each for each in self.control("GET", "clusters") if each["name"] == cluster)
        return any(each["region"] == self.region and each["selfManagedAddons"] for each in found)

    def _ours(self, each: Mapping[str, Any], cluster: str) -> bool:
        return each.get("region") == self.region and (each.get("cluster") or each.get("clusterName")) == cluster

    def bucket_owner(self, bucket: str) -> str | None:
        """The account that has the bucket, whosever it is; None if nobody has."""
        found: str | None = self.control("GET", f"bucket-owners/{bucket}")["owner"]
        return found

    def key(self, arn: str) -> Described:
        """State and policy of a KMS key, whosever it is."""
        _, _, _, region, account, name = arn.split(":", 5)
        found: Described = self.control("GET", f"keys/{region}/{account}/{name.removeprefix('key/')}")
        return found

    # -- EC2, EKS, IAM

    def cached(self, key: object, read: Callable[[], Any]) -> Any:
        """`read()`, at most twice a second, a tenth of the time at most, for large accounts answer slowly, and once in
        what `one_look` holds.
        """
        began = time.monotonic()
        with self._lock:
            found = self._cache.get(key)
        if found and (began < found[1] or found[0] >= getattr(self._look, "began", began)):
            return found[2]
        value = read()
        took = time.monotonic() - began
        with self._lock:
            self._cache[key] = (began, began + min(max(CACHE_SECONDS, SHARE * took), MOST_SECONDS), value)
        return value

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Within it, in this thread, what `cached` has read since it began is not read again, however long it takes:
        of a hundred machines each asks for the same subnets.
        """
        self._look.began = time.monotonic()
        try:
            yield
        finally:
            del self._look.began

    def cluster(self, name: str) -> Described:
        found: Described = self.cached(("cluster", name), lambda: self.eks.describe_cluster(name=name)["cluster"])
        return found

    def groups(self) -> Groups:
        read = lambda: Groups.of(self._pages(self.ec2, "describe_security_groups", "SecurityGroups"))  # noqa: E731
        found: Groups = self.cached("groups", read)
        return found

    def routes(self) -> Routes:
        def read() -> Routes:
            tables = self._pages(self.ec2, "describe_route_tables", "RouteTables")
            return Routes(tables, self._pages(self.ec2, "describe_vpc_endpoints", "VpcEndpoints"))

        found: Routes = self.cached("routes", read)
        return found

    def subnets(self) -> dict[str, Described]:
        def read() -> dict[str, Described]:
            return {each["SubnetId"]: each for each in self._pages(self.ec2, "describe_subnets", "Subnets")}

        found: dict[str, Described] = self.cached("subnets", read)
        return found

    def machine(self, instance_type: str) -> Machine:
        """The facts of an instance type; they never change."""
        with self._lock:
            found = self._machines.get(instance_type)
        if found is None:
            described = self.ec2.describe_instance_types(InstanceTypes=[instance_type])["InstanceTypes"]
            found = machine(described[0])
            with self._lock:
                self._machines[instance_type] = found
        return found

    def instances(self, ids: Iterable[str]) -> list[Described]:
        """Full descriptions of these instances (with their interfaces: ask once, they do not change)."""
        wanted = list(ids)
        if not wanted:
            return []
        reservations = self.ec2.describe_instances(InstanceIds=wanted)["Reservations"]
        return [instance for reservation in reservations for instance in reservation["Instances"]]

    def live_instances(self) -> dict[str, dict[str, str]]:
        """Tags of every instance that has not ended, by id: asked often, so not in AWS' long answers."""
        found: dict[str, dict[str, str]] = self.control("GET", f"instances/{self.region}")
        return found

    def tagged_instances(self, tags: Mapping[str, str], without: str = "") -> set[str]:
        """Ids of the live instances that carry all these tags, and none of the key `without`."""
        live = self.live_instances().items()
        return {instance for instance, own in live if tags.items() <= own.items() and without not in own}

    def role_policies(self, role: str) -> list[iam.Policy]:
        """All policy documents of a role, by name: inline ones and attached ones."""
        inline = [
            self.iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
            for name in self.iam.list_role_policies(RoleName=role)["PolicyNames"]
        ]
        return [iam.document(each) for each in inline + [self._managed(arn) for arn in self.attached(role)]]

    def attached(self, role: str) -> list[str]:
        """ARNs of the managed policies of a role."""
        policies = self.iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
        return [policy["PolicyArn"] for policy in policies]

    def _managed(self, arn: str) -> Any:
        version = self.iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        return self.iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]

    def pod_identity(self, cluster: str, namespace: str, service_account: str) -> Association | None:
        """What a pod identity association gives to a service account, if it has one: in a cluster of EKS' alone."""
        try:
            listed = self.eks.list_pod_identity_associations(
                clusterName=cluster, namespace=namespace, serviceAccount=service_account
            )["associations"]
        except self.eks.exceptions.ResourceNotFoundException:
            return None
        if not listed:
            return None
        found = self.eks.describe_pod_identity_association(
            clusterName=cluster, associationId=listed[0]["associationId"]
        )
        return Association(str(found["association"]["roleArn"]), found["association"]["createdAt"])

    @staticmethod
    def _pages(client: Any, operation: str, member: str, **arguments: Any) -> list[Described]:
        pages = client.get_paginator(operation).paginate(**arguments)
        return [each for page in pages for each in page.get(member, [])]


def role_name(arn: str) -> str:
    """The name of a role from its ARN (which may have a path)."""
    return arn.rsplit("/", 1)[-1]
