"""What the machines of a site reach there: object store, management controllers, shared files, and where logs go."""

from typing import Annotated, Literal

from pydantic import Field

from settings.s3 import BUCKET
from settings.secrets import CONTROLLER_SENSORS, SecretKey
from settings.sections import Section
from settings.types import Cidr, Matching

Certificate = Annotated[
    str,
    Matching(
        r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]{100,16000}\n-----END CERTIFICATE-----\n?",
        "a certificate as PEM, from -----BEGIN CERTIFICATE----- to its end",
    ),
]
_OF_ANOTHER = r"(?!localhost\b|127\.)[A-Za-z0-9][-A-Za-z0-9.]{1,200}"
AnotherHost = Annotated[
    str, Matching(_OF_ANOTHER, "a host name or an address of a machine other than the one that asks")
]
"""What pods and machines ask: at the loopback each would ask itself."""


class SiteStore(Section):
    """An object store of the site that speaks S3, with a bucket for this stack. Its keys are secrets of the file."""

    endpoint: Annotated[
        str,
        Matching(
            rf"https?://{_OF_ANOTHER}(:\d{{1,5}})?",
            "an address such as https://s3.example.com:9000, and no loopback",
        ),
    ]
    bucket: Annotated[str, Matching(BUCKET, "the name of a bucket")]
    cidrs: Annotated[tuple[Cidr, ...], Field(min_length=1, max_length=32, description="addresses it answers at")]


ControllerUser = Annotated[str, Matching(r"[A-Za-z0-9][-A-Za-z0-9_.@]{0,31}", "the name of a user")]


class Sensors(Section):
    """Metrics of power supplies, fans and inlet air, read from each machine's controller once a minute by a pod on
    a control plane node.
    """

    user: Annotated[ControllerUser, Field(description="account that reads the sensors, of role ReadOnly")]
    secret: SecretKey = CONTROLLER_SENSORS


class Controllers(Section):
    """Access to management controllers (BMC) over Redfish. The password of `user` is never in the file: set it in
    the environment.
    """

    user: Annotated[ControllerUser, Field(description="who asks them")]
    port: Annotated[int, Field(ge=1, le=65_535, description="their HTTPS port")] = 443
    authority: Annotated[
        Certificate | None,
        Field(description="CA certificate of the controllers; without it each needs its bmcFingerprints"),
    ] = None
    sensors: Annotated[
        Sensors | None, Field(description="None = power supplies, fans and inlet air are not monitored")
    ] = None


class SharedMount(Section):
    """The shared file system as every node mounts it."""

    kind: Literal["lustre", "nfs"]
    source: Annotated[
        str,
        Matching(
            r"[A-Za-z0-9][-A-Za-z0-9.@:,]{0,190}:/[-A-Za-z0-9_./]{0,60}",
            "what mount takes, such as 10.22.0.11@o2ib:10.22.0.12@o2ib:/shared or nfs.example.com:/export",
        ),
    ]


class Loki(Section):
    """The site's Loki, which receives the logs of pods and nodes."""

    host: AnotherHost
    port: Annotated[int, Field(ge=1, le=65_535)] = 3100
