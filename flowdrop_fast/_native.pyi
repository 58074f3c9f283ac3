# The compiled backend has the functions of `_pure`, under the same names.

from collections.abc import Iterable

from ._results import Explanation, Normalized, TextMessage

def normalize_conversation(
    messages: Iterable[object],
    *,
    ids: str = "strict",
    pending: str = "interrupt",
    interrupted: str = ...,
    system: str = "keep",
    keep: Iterable[str] = (),
    content: str = "text",
    copy: bool = True,
) -> Normalized: ...
def repair_tool_pairing(
    messages: Iterable[object],
    *,
    ids: str = "strict",
    pending: str = "interrupt",
    interrupted: str = ...,
) -> Normalized: ...
def explain_conversation(
    messages: Iterable[object],
    *,
    ids: str = "strict",
    pending: str = "interrupt",
    interrupted: str = ...,
    system: str = "keep",
    keep: Iterable[str] = (),
    content: str = "text",
    copy: bool = True,
) -> Explanation: ...
def coerce_content(value: object) -> str: ...
def text_to_message(
    text: object, role: object = None, tool_call_id: object = None
) -> TextMessage: ...
def has_digits_in_a_row(text: bytes, count: int) -> bool: ...
