"""A Job that copies weights or a dataset to the shared file system, once per source (Q05, LF14)."""

import hashlib
import shlex
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.accounts import service_account
from components.platform.copying import LOOK, Copier, copying_container
from components.platform.jobs import one_off_job
from components.storage.sums import Kind, checked

MODELS, DATASETS = "models", "datasets"
"""Directories of the shared file system that hold one directory per copy."""


@dataclass(frozen=True, kw_only=True)
class StagedArgs:
    """`what` names the kind of the copy for people ("weights"), `directory` is where the shared file system has these.

    `source` is an address of the copier's store. `granted` resolves when pods of `service_account` may read there. The
    Job runs where ordinary pods run, which they do after `ready`: the processors of a GPU node belong to whoever reads
    the copy. What is `compared` as files of that kind is held against the SHA256SUMS beside it, whose own digest is
    `sha256`, None where nobody has said it.
    """

    what: str
    name: str
    directory: str
    source: str
    copier: Copier
    namespace: pulumi.Input[str]
    service_account: str
    granted: pulumi.Input[str]
    claim: pulumi.Input[str]
    ready: pulumi.Resource
    timeout_seconds: int
    compared: Kind | None = None
    sha256: str | None = None


class Staged(Component):
    """The copy. `loaded` is the resource that exists when all of it is on the file system, in the directory `path`.

    Another source or digest is another directory: whoever still reads the old one keeps it.
    """

    loaded: k8s.batch.v1.Job
    path: str

    def __init__(self, name: str, args: StagedArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        account = service_account(self, args.service_account, args.namespace, args.granted)
        content = (args.source, *([args.sha256] if args.sha256 else []))
        self.path = f"{args.directory}/{args.name}-{digest(*content)}"
        claim = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.claim)
        script = look_script(args.copier, args.source)
        look = copying_container(args.copier, "look", ["sh", "-c", script], asked=LOOK)
        program, *words = args.copier.fetch(args.source, f"/{self.path}")
        compared: list[str] = []
        if args.compared is not None:
            into, kind = f"/{self.path}", args.compared
            compared = [checked([program, *words], into, source=args.source, sha256=args.sha256, kind=kind)]
            program, words = "sh", ["-c", *compared]
        copy = copying_container(
            args.copier,
            "copy",
            [program],
            args=words,
            volume_mounts=[
                core.VolumeMountArgs(name="shared", mount_path=f"/{args.directory}", sub_path=args.directory)
            ],
        )
        self.loaded = k8s.batch.v1.Job(
            self.named("copy"),
            one_off_job(
                # A Job's template cannot change, so another source, image or script is another Job.
                name=physical_name(args.what, args.name, digest(*content, args.copier.image, *compared), limit=63),
                namespace=args.namespace,
                account=account,
                # at once: an empty source makes the copy quick and fails the look, which says why
                steps=[copy, look],
                volumes=[core.VolumeArgs(name="shared", persistent_volume_claim=claim)],
                backoff_limit=3,
                seconds=args.timeout_seconds,
            ),
            self.child(
                depends_on=[args.ready],
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{args.timeout_seconds}s", update=f"{args.timeout_seconds}s"
                ),
            ),
        )
        self.register_outputs({"source": args.source, "path": self.path})


def look_script(copier: Copier, source: str) -> str:
    """Fails where nothing lies below `source`: a copier may call that no error, and the server would start empty."""
    sentence = f"no object lies below {source}/: upload it there, or correct the address in the stack file"
    return f"{copier.look(source)} || {{ echo {shlex.quote(sentence)} >&2; exit 1; }}"


def digest(*values: str) -> str:
    return hashlib.sha256(" ".join(values).encode()).hexdigest()[:8]
