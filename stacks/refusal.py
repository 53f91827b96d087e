"""Refusing a stack before anything is registered: every reason at once, in one message without a traceback."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pulumi

from planner.faces.findings import table
from planner.types import Plan
from settings.errors import SettingsError
from stacks.charts import unlike_record
from stacks.deploy import deployable, own_secrets
from stacks.models import TOKENS, asks_hub
from stacks.pipeline_files import wrong_uploads

TOLD = 32
"""The exit code of a program that has told the engine itself why it ends, so that Pulumi adds nothing (LF26).

Source: pulumi sdk/python/cmd/pulumi-language-python/main.go, Run. After a RunError it adds an exit code.
"""
MISSING = "{key}: models of the hub need this secret, and it is not set; type pulumi config set --secret {key} VALUE"

CLOSED = "{path}: {name} has no API key: {key} is not set; type pulumi config set --secret {key} VALUE"
UNKEPT = (
    "{path}: the experiments' database has no password: {key} is not set; type pulumi config set --secret {key} VALUE"
)
UNTOLD = "{path}: the tracker has no {what}: {key} is not set; type pulumi config set --secret {key} VALUE"
UNSTORED = UNKEPT.replace("experiments'", "pipelines'")
STRANGERS = "{path}: {why}: {key} is not set; type pulumi config set --secret {key} VALUE"
UNREACHED = "gpucluster:inventory: {why} {key} is not set; type pulumi config set --secret {key} VALUE"
TWICE = (
    "{path}: the value comes from Secrets Manager, so {key}, which is set too, would be ignored; type pulumi config"
    " rm {key}, or remove the entry here"
)
UNHEARD = "{path}: {name} cannot receive alerts: {key} is not set; type pulumi config set --secret {key} VALUE"


def accepted(plan: Plan, config: pulumi.Config) -> Plan:
    """The plan, if nothing in it forbids deployment; its warnings are shown. Raises RunError with all errors,
    or with the reason why such a plan cannot be deployed at all, before any warning.
    """
    if plan.errors:
        count = len(plan.errors)
        raise pulumi.RunError(
            f"the planner refuses this stack: {count} finding{'s' if count > 1 else ''}; nothing was registered\n\n"
            + table(plan.errors)
        )
    deployable(plan)
    for finding in plan.warnings:
        pulumi.log.warn(f"{finding}" + (f" [waived: {finding.waiver}]" if finding.waiver else ""))
    missing = [
        *_without_tokens(plan, config),
        *_without_keys(plan, config),
        *_without_receivers(plan, config),
        *_without_password(plan, config),
        *_without_tracker(plan, config),
        *_without_pipelines(plan, config),
        *_without_people(plan, config),
        *wrong_uploads(plan.pipelines),
        *(
            UNREACHED.format(why=why, key=config.full_key(key))
            for key, why in own_secrets(plan).items()
            if config.get_secret(key) is None
        ),
        *_kept_twice(plan, config),
        *unlike_record(plan),
    ]
    if missing:
        raise pulumi.RunError("\n".join(missing))
    return plan


def _lacks(plan: Plan, config: pulumi.Config, key: str) -> bool:
    """Whether neither the stack file nor anybody outside has it."""
    kept = plan.external_secrets.secrets if plan.external_secrets else {}
    return key not in kept and config.get_secret(key) is None


def _kept_twice(plan: Plan, config: pulumi.Config) -> Iterator[str]:
    for key in plan.external_secrets.secrets if plan.external_secrets else ():
        if config.get_secret(key) is not None:
            yield TWICE.format(path=config.full_key(f"externalSecrets.secrets.{key}"), key=config.full_key(key))


def _without_tokens(plan: Plan, config: pulumi.Config) -> Iterator[str]:
    for key in TOKENS.values():
        if asks_hub(plan) and _lacks(plan, config, key):
            yield MISSING.format(key=config.full_key(key))


def _without_keys(plan: Plan, config: pulumi.Config) -> Iterator[str]:
    """A key that several services have for want of another is told of once."""
    told: set[str] = set()
    for place, service in enumerate(plan.services.values()):
        for index, key in enumerate(service.keys):
            if _lacks(plan, config, key) and key not in told:
                told.add(key)
                path = config.full_key(f"serving.services[{place}].keys[{index}]")
                yield CLOSED.format(path=path, name=service.name, key=config.full_key(key))


def _without_receivers(plan: Plan, config: pulumi.Config) -> Iterator[str]:
    for index, receiver in enumerate(plan.monitoring.receivers if plan.monitoring else ()):
        if _lacks(plan, config, receiver.secret):
            path = config.full_key(f"monitoring.receivers[{index}].secret")
            yield UNHEARD.format(path=path, name=receiver.name, key=config.full_key(receiver.secret))


def _without_password(plan: Plan, config: pulumi.Config) -> Iterator[str]:
    database = plan.trial_database
    if database is not None and config.get_secret(database.secret) is None:
        path = config.full_key("training.trialDatabase.secret")
        yield UNKEPT.format(path=path, key=config.full_key(database.secret))


def _without_tracker(plan: Plan, config: pulumi.Config) -> Iterator[str]:
    tracking = plan.tracking
    if tracking is not None and _lacks(plan, config, tracking.secret):
        what = "password for its database" if tracking.mlflow else "key, so runs cannot report to it"
        path = config.full_key("training.tracking.secret")
        yield UNTOLD.format(path=path, what=what, key=config.full_key(tracking.secret))


def _without_pipelines(plan: Plan, config: pulumi.Config) -> Iterator[str]:
    pipelines = plan.pipelines
    if pipelines is not None and config.get_secret(pipelines.secret) is None:
        path = config.full_key("training.pipelines.secret")
        yield UNSTORED.format(path=path, key=config.full_key(pipelines.secret))


def _without_people(plan: Plan, config: pulumi.Config) -> Iterator[str]:
    people = plan.gateway.people if plan.gateway else None
    if people is None:
        return
    for name, key, why in (
        ("secret", people.secret, "the issuer does not know this stack, so nobody can sign in"),
        ("sessionSecret", people.session_secret, "sessions cannot be encrypted"),
    ):
        if config.get_secret(key) is None:
            path = config.full_key(f"serving.gateway.people.{name}")
            yield STRANGERS.format(path=path, why=why, key=config.full_key(key))


@contextmanager
def refusing() -> Iterator[None]:
    """Turn errors of the program's user into one message, with which Pulumi ends.

    Nor does a program add anything that the engine gives up because a resource failed, or somebody said so: it is
    interrupted then, and Python would print where.
    """
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, os._exit, TOLD)
    try:
        yield
    except (SettingsError, pulumi.RunError) as error:
        pulumi.log.error(str(error))
        raise SystemExit(TOLD) from None
