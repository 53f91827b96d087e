"""oauth2-proxy: it signs people in at an OpenID Connect issuer, and tells the gateway whether a request is
authenticated.

Options of oauth2-proxy 7.15 (its docs, configuration/overview). A session is a sealed cookie of one hostname, with a
name that browsers keep to it (RFC 6265bis, 4.1.3: `__Host-`), and holds none of the issuer's tokens: whoever takes it
has a page and no more, and there is no database. A code is redeemed by who asked for it alone (RFC 7636, S256).
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import NOBODY, confined
from components.platform.servers import service_of
from components.serving.autoscaler import Scaling, autoscaled

NAMESPACE, NAME, PORT = "people", "oauth2-proxy", 4180
LABELS = {"app": NAME}
CALLBACK, SIGN_OUT = "/oauth2/callback", "/oauth2/sign_out"
"""All that people themselves ask of it."""
COOKIE = "__Host-people"
_FILES, _CLIENT, _SESSIONS = "/etc/people", "client", "sessions"
_APIS = "^/(api|apis|ajax-api|system)/"
"""What the pages' own programs ask: they are told 401, and not sent to an issuer whose page they cannot show."""
_STATIC = "static://202"


@dataclass(frozen=True, kw_only=True)
class SignInArgs:
    """Whom the `issuer` vouches for and who is of one of the `groups` has a session of so many seconds. `secret` is the
    client's at the issuer, `session_secret` any text that nobody knows: sessions of another one are refused.
    With `tokens` the doors of model servers ask as well, of whom brings an ID token of this client's. There are
    `replicas` pods, or as many as `scaling` says: sessions are the browsers', so any of them answers.
    """

    namespace: pulumi.Input[str]
    image: str
    issuer: str
    client_id: str
    groups_claim: str
    scopes: Sequence[str]
    groups: Sequence[str]
    session_seconds: int
    secret: pulumi.Input[str]
    session_secret: pulumi.Input[str]
    tokens: bool
    replicas: int
    millicores: int
    memory_mib: int
    after: Sequence[pulumi.Resource]
    scaling: Scaling | None = None


class SignIn(Component):
    """The program and its Service. `ready` is the resource after which people are asked: it starts when it has read the
    issuer's discovery document."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: SignInArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        deployment = self._deployment(args, self._secret(args))
        metadata = k8s.meta.v1.ObjectMetaArgs(name=NAME, namespace=args.namespace)
        k8s.policy.v1.PodDisruptionBudget(
            self.named("disruption-budget"),
            metadata=metadata,
            spec=k8s.policy.v1.PodDisruptionBudgetSpecArgs(
                max_unavailable=1, selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS)
            ),
            opts=self.child(),
        )
        if args.scaling:
            autoscaled(self, args.scaling, metadata=metadata, target=deployment)
        self.ready = service_of(self, "service", NAME, args.namespace, LABELS, ("http", PORT), deployment)
        self.register_outputs({"issuer": args.issuer})

    def _secret(self, args: SignInArgs) -> pulumi.Output[str]:
        """The Secret's name, which follows its content, so that another secret is a rollout."""
        known = pulumi.Output.all(args.secret, args.session_secret)
        content: pulumi.Output[dict[str, str]] = pulumi.Output.secret(known.apply(_content))
        secret = k8s.core.v1.Secret(
            self.named("secret"),
            metadata=k8s.meta.v1.ObjectMetaArgs(
                # Eight digits of a digest tell nothing of it; without this every name after it were a secret.
                name=pulumi.Output.unsecret(known.apply(_named)),
                namespace=args.namespace,
            ),
            immutable=True,
            string_data=content,
            opts=self.child(),
        )
        return secret.metadata.name.apply(str)

    def _deployment(self, args: SignInArgs, secret: pulumi.Output[str]) -> k8s.apps.v1.Deployment:
        core, meta = k8s.core.v1, k8s.meta.v1
        container = core.ContainerArgs(
            name=NAME,
            image=args.image,
            args=arguments(args),
            ports=[core.ContainerPortArgs(name="http", container_port=PORT)],
            readiness_probe=_asked("/ready", 5),
            liveness_probe=_asked("/ping", 20),
            termination_message_policy="FallbackToLogsOnError",
            resources=core.ResourceRequirementsArgs(
                requests={"cpu": f"{args.millicores}m", "memory": f"{args.memory_mib}Mi"},
                limits={"memory": f"{2 * args.memory_mib}Mi"},
            ),
            security_context=confined(user=NOBODY, writes=False),
            volume_mounts=[core.VolumeMountArgs(name="secrets", mount_path=_FILES, read_only=True)],
        )
        spread = core.TopologySpreadConstraintArgs(
            max_skew=1,
            topology_key="kubernetes.io/hostname",
            when_unsatisfiable="ScheduleAnyway",
            label_selector=meta.LabelSelectorArgs(match_labels=LABELS),
        )
        return k8s.apps.v1.Deployment(
            self.named("deployment"),
            metadata=meta.ObjectMetaArgs(name=NAME, namespace=args.namespace, labels=LABELS),
            spec=k8s.apps.v1.DeploymentSpecArgs(
                replicas=None if args.scaling else args.replicas,
                selector=meta.LabelSelectorArgs(match_labels=LABELS),
                template=core.PodTemplateSpecArgs(
                    metadata=meta.ObjectMetaArgs(labels=LABELS),
                    spec=core.PodSpecArgs(
                        automount_service_account_token=False,
                        containers=[container],
                        topology_spread_constraints=[spread],
                        volumes=[
                            core.VolumeArgs(name="secrets", secret=core.SecretVolumeSourceArgs(secret_name=secret))
                        ],
                    ),
                ),
            ),
            opts=self.child(depends_on=list(args.after)),
        )


def arguments(args: SignInArgs) -> list[str]:
    """What the program is started with; none of it is a secret."""
    return [
        "--provider=oidc",
        f"--oidc-issuer-url={args.issuer}",
        f"--client-id={args.client_id}",
        f"--client-secret-file={_FILES}/{_CLIENT}",
        f"--scope={' '.join(args.scopes)}",
        f"--oidc-groups-claim={args.groups_claim}",
        *(f"--allowed-group={group}" for group in args.groups),
        "--email-domain=*",
        "--code-challenge-method=S256",
        "--insecure-oidc-skip-nonce=false",
        f"--cookie-name={COOKIE}",
        f"--cookie-secret-file={_FILES}/{_SESSIONS}",
        f"--cookie-expire={args.session_seconds}s",
        "--cookie-secure=true",
        "--cookie-httponly=true",
        # Strict would leave out the cookie at the first request after the issuer's page.
        "--cookie-samesite=lax",
        "--cookie-csrf-per-request=true",
        "--cookie-csrf-per-request-limit=8",
        "--session-cookie-minimal=true",
        # Nobody reaches it but the gateway (network rules), whose headers say what people asked for.
        "--reverse-proxy=true",
        "--trusted-proxy-ip=0.0.0.0/0",
        f"--http-address=0.0.0.0:{PORT}",
        f"--upstream={_STATIC}",
        "--set-xauthrequest=true",
        "--skip-provider-button=true",
        f"--api-route={_APIS}",
        # Pages take the header away before they ask.
        *(["--skip-jwt-bearer-tokens=true"] if args.tokens else []),
        # Paths of requests have codes of the issuer's in them; who signed in is logged all the same.
        "--request-logging=false",
    ]


def _content(secrets: Sequence[str]) -> dict[str, str]:
    """The sealing key is 32 bytes, whatever text it is made of (pkg/encryption/utils.go, SecretBytes)."""
    client, sessions = secrets
    key = hashlib.sha256(b"sessions of people" + sessions.encode()).digest()
    return {_CLIENT: client, _SESSIONS: base64.urlsafe_b64encode(key).decode()}


def _named(secrets: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(secrets).encode()).hexdigest()[:8]
    return f"{NAME}-{digest}"


def _asked(path: str, period: int) -> k8s.core.v1.ProbeArgs:
    core = k8s.core.v1
    return core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(path=path, port="http"),
        period_seconds=period,
        timeout_seconds=3,
        failure_threshold=3,
    )
