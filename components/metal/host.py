"""A machine that is prepared over one SSH connection."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_command as command

from components._base import Component

ATTEMPTS, ATTEMPT_SECONDS = 12, 15
"""Of a connection that is refused or not answered: the pauses between them begin at 0.1 s and grow by half each time.

Source: pulumi-command, provider/pkg/provider/remote/connection.go, dialWithRetry; pulumi sdk/go, retry.Until.
"""


@dataclass(frozen=True, kw_only=True)
class Login:
    """How machines are reached: who logs in with which private key, at which port."""

    user: str
    port: int
    private_key: pulumi.Input[str]


def connection(login: Login, *, address: str, host_key: str) -> command.remote.ConnectionArgs:
    """A connection to the machine that shows this key, and to no other: without one the provider takes any."""
    return command.remote.ConnectionArgs(
        host=address,
        port=login.port,
        user=login.user,
        private_key=login.private_key,
        host_key=host_key,
        dial_error_limit=ATTEMPTS,
        per_dial_timeout=ATTEMPT_SECONDS,
    )


def as_root(user: str, words: str) -> str:
    """A command of root's; one that asks for a password fails at once."""
    return words if user == "root" else f"sudo -n {words}"


@dataclass(frozen=True, kw_only=True)
class HostArgs:
    """`text` is the bundle. It has secrets in it, so all of it is one. `after` is what must be there first: the control
    plane for those that join it.
    """

    login: Login
    address: str
    host_key: str
    text: pulumi.Input[str]
    timeout_minutes: int = 60
    after: Sequence[pulumi.Resource] = ()


class Host(Component):
    """The machine. `prepared` exists when every concern is ok; a destroy takes back what they made, formatting nothing.

    A changed text is sent again, in place. With the text's hash among `triggers` the machine would be replaced: what
    is new made first, and what is old undone after it (pulumi-command, remote.Command: triggers replace).
    """

    prepared: command.remote.Command

    def __init__(self, name: str, args: HostArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        apply = as_root(args.login.user, "bash -s -- apply")
        time = f"{args.timeout_minutes}m"
        self.prepared = command.remote.Command(
            self.named("prepared"),
            command.remote.CommandArgs(
                connection=connection(args.login, address=args.address, host_key=args.host_key),
                create=apply,
                update=apply,
                delete=as_root(args.login.user, "bash -s -- undo"),
                stdin=pulumi.Output.secret(args.text),
                add_previous_output_in_env=False,
            ),
            self.child(
                # The other way round, what a replacement has made would be taken back after it.
                delete_before_replace=True,
                depends_on=list(args.after),
                custom_timeouts=pulumi.CustomTimeouts(create=time, update=time, delete=time),
            ),
        )
        self.register_outputs({"said": self.prepared.stdout})
