"""Headers that carry the user's identity. The gateway removes those that callers send, and sets its own.

oauth2-proxy 7.15, pkg/apis/options/legacy_options.go: `--set-xauthrequest`.
"""

USER, MAIL, CALLED = "X-Auth-Request-User", "X-Auth-Request-Email", "X-Auth-Request-Preferred-Username"
"""Who it is: the issuer's `sub`, the one name that is never another's (OpenID Connect Core 1.0, 5.7)."""

ROLE = "X-Page-Role"
"""What somebody is at the page: of our own."""
