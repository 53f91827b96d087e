"""The machines of a node pool."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_command as command

from components._base import Component
from components.metal.credentials import ADMIN
from components.metal.host import Host, HostArgs, Login, as_root, connection


@dataclass(frozen=True, kw_only=True)
class Overseer:
    """A machine of the control plane, where the administrator's credentials are."""

    login: Login
    address: str
    host_key: str


@dataclass(frozen=True, kw_only=True)
class PoolArgs:
    """`hosts` by name. No node is Ready before the pods' `network` is there. `standing` machines are nodes of the pool
    that something else has prepared, such as those of the control plane. `labels` are given to nodes by name, also to
    those that joined when they were others.
    """

    hosts: Mapping[str, HostArgs]
    overseer: Overseer
    network: pulumi.Resource
    standing: Mapping[str, pulumi.Resource]
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    timeout_minutes: int = 20


class Pool(Component):
    """The pool. `nodes` exists when every machine of it is a Ready node."""

    nodes: command.remote.Command

    def __init__(self, name: str, args: PoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        prepared = [Host(self.named(host), each, self.child()).prepared for host, each in args.hosts.items()]
        names = " ".join(f"node/{each}" for each in sorted([*args.hosts, *args.standing]))
        calls = [f"wait --for=condition=Ready --timeout={args.timeout_minutes}m {names}", *_labelling(args.labels)]
        overseer, time = args.overseer, f"{args.timeout_minutes + 2}m"
        self.nodes = command.remote.Command(
            self.named("nodes"),
            command.remote.CommandArgs(
                connection=connection(overseer.login, address=overseer.address, host_key=overseer.host_key),
                create=" && ".join(
                    as_root(overseer.login.user, f"kubectl --kubeconfig {ADMIN} {each}") for each in calls
                ),
                add_previous_output_in_env=False,
            ),
            self.child(
                depends_on=[args.network, *args.standing.values(), *prepared],
                custom_timeouts=pulumi.CustomTimeouts(create=time, update=time),
            ),
        )
        self.register_outputs({"nodes": sorted([*args.hosts, *args.standing])})


def _labelling(labels: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """One call for the labels that the same nodes have: machines of a rack have it in common, others their unit."""
    holders: dict[str, list[str]] = {}
    for name, given in sorted(labels.items()):
        for key, value in sorted(given.items()):
            holders.setdefault(f"{key}={value}", []).append(f"node/{name}")
    alike: dict[tuple[str, ...], list[str]] = {}
    for word, names in holders.items():
        alike.setdefault(tuple(names), []).append(word)
    for nodes, words in alike.items():
        yield f"label --overwrite {' '.join((*nodes, *words))}"
