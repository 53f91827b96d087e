"""Grafana behind single sign-on: it trusts the user headers that the gateway sets.

Grafana documentation, Configure auth proxy authentication. There is no login by cookie (`enable_login_token`), so each
request is judged by its own headers. The password that the chart makes is still taken where no gateway is between:
through `kubectl port-forward`.
"""

from typing import Any

from components.platform.identity import CALLED, MAIL, ROLE, USER


def by_the_gateway(hostname: str) -> dict[str, Any]:
    """Sections of grafana.ini; links in what it sends lead to `hostname`."""
    return {
        "server": {"root_url": f"https://{hostname}"},
        "users": {"allow_sign_up": False, "auto_assign_org_role": "Viewer"},
        "auth.proxy": {
            "enabled": True,
            "header_name": USER,
            "header_property": "username",
            "headers": f"Name:{CALLED} Email:{MAIL} Role:{ROLE}",
            "auto_sign_up": True,
            "enable_login_token": False,
        },
    }
