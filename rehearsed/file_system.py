"""What reads the file system's rates in a rehearsal: the script itself, which asks the account's stand-in."""

import sys
from pathlib import Path

from rehearsal import places
from rehearsal.images import identity
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Ends, Exit, Launch, Program
from rehearsed.scripts import scaled

ACTION = "cloudwatch:GetMetricData"


def run(launch: Launch) -> Program:
    """It asks with the account's own key, so that here is looked at whether the pod's role may. Without a role or a
    right it ends with AWS' words: the script would go on, and say so in its log.
    """
    try:
        who = identity.of(launch)
    except identity.CredentialsError as error:
        return Ends(launch.now, Exit(1, str(error)))
    if kind := identity.refusal(launch, who, ACTION, "*"):
        said = f"User: {who.session()} is not authorized to perform: {ACTION} because no {kind} policy allows it"
        return Ends(launch.now, Exit(1, said))
    port = next(int(word.partition("=")[2]) for word in launch.argv if word.startswith("--listen="))
    local = places.free_port()
    account = launch.world.aws
    own = {"--address": account.url, "--listen": str(local)}
    argv = [scaled(_told(word, own)) for word in launch.argv[1:]]
    keys = {name: account.variables[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    return RealProcess(launch, Path(sys.executable), argv, {port: local}, keys, own_words=True)


def _told(word: str, own: dict[str, str]) -> str:
    """A word of the command line with what is different here."""
    flag, _, _ = word.partition("=")
    return f"{flag}={own[flag]}" if flag in own else word
