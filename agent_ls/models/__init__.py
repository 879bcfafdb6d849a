"""Models: from a name to something that answers, and from a provider's error to what can be done about it.

Imports pydantic_ai, and provider SDKs only when one is used: import this package after `initialize` was answered,
and call `resolve_model` in a worker thread (an SDK takes seconds to import). A session opens its model with
`open_model`.
"""

from agent_ls.models.provider_errors import ContextOverflow, FailureKind, Fatal, ProviderFailure, Transient, classify
from agent_ls.models.registry import LOCAL, ResolvedModel, default_model_name, resolve_model
from agent_ls.models.retries import retry_delays, seconds_to_wait
from agent_ls.models.shared import open_model

__all__ = [
    "LOCAL",
    "ContextOverflow",
    "FailureKind",
    "Fatal",
    "ProviderFailure",
    "ResolvedModel",
    "Transient",
    "classify",
    "default_model_name",
    "open_model",
    "resolve_model",
    "retry_delays",
    "seconds_to_wait",
]
