"""The backends, floors and peers that are measured, each imported explicitly and by name.

A backend that is missing is an error: a ratio without it would mean nothing. A peer that is missing
is named as not measured.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import TYPE_CHECKING, Any

from benchmarks.histories import decode
from benchmarks.measuring import Contender

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

BACKENDS = ("native", "pure")
OWNED_COPY = (
    '[{**m, "tool_calls": m["tool_calls"][:]} if "tool_calls" in m else m.copy() for m in messages]'
)
PACKAGES = ("cython", "orjson", "litellm", "pydantic-ai-slim", "turnsafe", "tool-call-repair")


def backend(name: str) -> ModuleType:
    """Import one backend of flowdrop_fast, or raise `ImportError`."""
    return importlib.import_module(f"flowdrop_fast._{name}")


def imported(module: str, name: str) -> Any:
    """Return `name` of a peer's module; `ImportError` where either is missing."""
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError:
        raise ImportError(f"{module} has no {name}") from None


def litellm_repair() -> Callable[[list[Any]], list[Any]]:
    """Return litellm's own repair, switched on; raise `ImportError` where there is none."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
    litellm: Any = importlib.import_module("litellm")
    litellm.modify_params = True  # without it the function returns its argument
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)  # else it prints every drop
    factory = "litellm.litellm_core_utils.prompt_templates.factory"
    repair: Callable[[list[Any]], list[Any]] = imported(
        factory, "sanitize_messages_for_tool_calling"
    )
    return repair


def row_copy(name: str, data: bytes, *, freshly: bool, size: int | None = None) -> Contender:
    """The floor: a fresh dict for each row and nothing else."""
    return _contender(name, "[m.copy() for m in messages]", data, freshly, size, {})


def owned_copy(name: str, data: bytes, *, freshly: bool) -> Contender:
    """The floor of an output that shares no list with the input: fresh lists of calls, too."""
    return _contender(name, OWNED_COPY, data, freshly, None, {})


def normalize(
    name: str, module: ModuleType, data: bytes, *, freshly: bool, size: int | None = None
) -> Contender:
    """`normalize_conversation` of one backend."""
    names = {"normalize": module.normalize_conversation}
    return _contender(name, "normalize(messages)", data, freshly, size, names)


def call(
    name: str,
    function: Callable[[Any], Any],
    data: bytes,
    *,
    freshly: bool,
    size: int | None = None,
) -> Contender:
    """Any other function of one list of messages."""
    return _contender(name, "function(messages)", data, freshly, size, {"function": function})


def decoding(name: str, data: bytes) -> Contender:
    """Decoding the same bytes: what the history costs before anybody normalizes it."""
    return Contender(name, "decode(messages)", lambda: data, len(decode(data)), {"decode": decode})


def _contender(
    name: str,
    statement: str,
    data: bytes,
    freshly: bool,
    size: int | None,
    names: dict[str, Any],
) -> Contender:
    """A contender over decoded `data`; `size` counts other things than its rows."""
    messages = decode(data)
    make = (lambda: decode(data)) if freshly else (lambda: messages)
    return Contender(name, statement, make, size or len(messages), names)
