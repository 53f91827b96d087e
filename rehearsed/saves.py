"""Checkpoints: the first one that a training process writes, and the newest one on its way to S3.

Files are names and sizes here, so that a save whose hashes differ does not come up; the copier's script itself runs in
tests/rehearsed/test_backup_script.py.
"""

from __future__ import annotations

import posixpath
from string import Template

from botocore.exceptions import ClientError

from rehearsal.images import awscli, identity, s3sync
from rehearsal.kubelet.program import Launch, Mount, Program

DIRECTORY = "CHECKPOINT_DIR"
MANIFEST = "SHA256SUMS"
FIRST = {"step-0/shard-0.pt": 1 << 30, f"step-0/{MANIFEST}": 1 << 10}
"""What a run saves before its first step: it shows that it can."""


def begin(launch: Launch) -> str | None:
    """The first save of rank 0, where the process is told to save; why it cannot, in Python's words."""
    directory = launch.env.get(DIRECTORY)
    if directory is None or launch.env.get("RANK", "0") != "0":
        return None
    mount = launch.mount_of(directory)
    if mount is None:
        return f"FileNotFoundError: [Errno 2] No such file or directory: '{directory}/step-0'"
    if mount.read_only:
        return f"OSError: [Errno 30] Read-only file system: '{directory}/step-0'"
    root = mount.inside(directory) or ""
    launch.world.contents.add(mount.volume, {posixpath.join(root, name): size for name, size in FIRST.items()})
    return None


def sync(launch: Launch) -> Program:
    """The AWS CLI image in this program: what it downloads is stock, what it uploads is the newest checkpoint."""
    return s3sync.run(launch, copied)


def copied(launch: Launch) -> list[str]:
    """Does the uploads of a command line; a line of the log for each. Raises CommandError, CredentialsError."""
    uploads = [
        (words[at + 1], places[1])
        for words in awscli.commands(launch.argv)
        for at in range(len(words) - 1)
        if words[at] == "s3" and words[at + 1] in ("sync", "cp")
        if len(places := awscli.positional(words[at + 2 :])) > 1 and not places[0].startswith("s3://")
    ]
    if not uploads:
        return []
    directory = launch.env.get(DIRECTORY, "")
    mount = launch.mount_of(directory)
    newest = _newest(launch, mount, directory) if mount else None
    if mount is None or newest is None:
        return [f"no directory of {directory} holds {MANIFEST} yet, so there is nothing whole to copy"]
    save = f"{mount.inside(directory)}/{newest}"
    names = [posixpath.relpath(name, save) for name in launch.world.contents.under(mount.volume, save)]
    who, lines = identity.of(launch), []
    for verb, target in uploads:
        place = Template(target).safe_substitute(launch.env, newest=newest)
        bucket, _, key = place.removeprefix("s3://").partition("/")
        if key_arn := _key(launch, bucket):
            awscli.allowed(launch, who, "PutObject", "kms:GenerateDataKey", key_arn)
        chosen = [name for name in names if (name == MANIFEST) == (verb == "cp")]
        for name in chosen:
            whole = key if verb == "cp" else f"{key}/{name}"
            awscli.allowed(launch, who, "PutObject", "s3:PutObject", f"arn:aws:s3:::{bucket}/{whole}")
            try:
                launch.world.aws.s3.put_object(Bucket=bucket, Key=whole, Body=b"")
            except ClientError as error:
                raise awscli.CommandError(f"upload failed: {directory}/{newest}/{name} to {place} {error}") from error
        lines.append(f"upload: {directory}/{newest} to {place}: {len(chosen)} objects")
    return lines


def _key(launch: Launch, bucket: str) -> str | None:
    """The KMS key of one's own that a bucket encrypts with: who puts an object needs kms:GenerateDataKey on it.

    Source: S3 user guide, "Using server-side encryption with AWS KMS keys", permissions.
    """
    try:
        told = launch.world.aws.s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]
    except ClientError as error:
        raise awscli.CommandError(f"upload failed: s3://{bucket} {error}") from error
    own = told["Rules"][0]["ApplyServerSideEncryptionByDefault"].get("KMSMasterKeyID") or ""
    return own if ":key/" in own else None


def _newest(launch: Launch, mount: Mount, directory: str) -> str | None:
    """The save that came last, of those that hold their hashes."""
    root = mount.inside(directory) or ""
    whole = [
        posixpath.dirname(name)
        for name in launch.world.contents.under(mount.volume, root)
        if posixpath.basename(name) == MANIFEST
    ]
    return posixpath.basename(whole[-1]) if whole else None
