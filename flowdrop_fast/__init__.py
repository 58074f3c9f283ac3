"""flowdrop-fast: a stored conversation in, one that a provider accepts out.

Only names live here. `_backend` chooses between the compiled and the pure implementation.
"""

from ._assemble import assemble_messages
from ._backend import BACKEND, backend
from ._check import check_conversation
from ._results import Explanation, Finding, Normalized, Record, TextMessage
from .types import MaybeMessage, Message, ToolCall

__version__ = "0.1.0"

normalize_conversation = backend.normalize_conversation
repair_tool_pairing = backend.repair_tool_pairing
explain_conversation = backend.explain_conversation
coerce_content = backend.coerce_content
text_to_message = backend.text_to_message

__all__ = [
    "BACKEND",
    "Explanation",
    "Finding",
    "MaybeMessage",
    "Message",
    "Normalized",
    "Record",
    "TextMessage",
    "ToolCall",
    "__version__",
    "assemble_messages",
    "check_conversation",
    "coerce_content",
    "explain_conversation",
    "normalize_conversation",
    "repair_tool_pairing",
    "text_to_message",
]
