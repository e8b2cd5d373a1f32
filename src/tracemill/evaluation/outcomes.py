"""Names of what can go wrong around a model; what a model itself does wrong is named in `parse` and
`environment.episode`.
"""

from __future__ import annotations

TIMEOUT, UNREACHABLE, SERVER_ERROR = "timeout", "server_unreachable", "server_error"
RATE_LIMITED, BAD_RESPONSE, BAD_REQUEST = "rate_limited", "bad_response", "bad_request"
ENVIRONMENT_ERROR = "environment_error"
"""The catalogue could not be asked."""

FAULTS = (TIMEOUT, UNREACHABLE, SERVER_ERROR, RATE_LIMITED, BAD_RESPONSE, BAD_REQUEST, ENVIRONMENT_ERROR)
"""Outcomes that say something about a server and nothing about the model: such episodes are played again."""
