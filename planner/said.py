"""Sections of the stack file that the plan holds as they are: what stacks know of the settings."""

from settings.alerts import Alerts, OwnThreshold
from settings.aws import SpendingAlerts
from settings.aws_network import PodGroups
from settings.aws_storage import SourceBucket
from settings.external_secrets import ExternalSecret, Rotation
from settings.monitoring import Receiver
from settings.pipelines import Pipelines, Upload
from settings.site import Controllers, Loki, Sensors, SiteStore

__all__ = [
    "Alerts",
    "Controllers",
    "ExternalSecret",
    "Loki",
    "OwnThreshold",
    "Pipelines",
    "PodGroups",
    "Receiver",
    "Rotation",
    "Sensors",
    "SiteStore",
    "SourceBucket",
    "SpendingAlerts",
    "Upload",
]
