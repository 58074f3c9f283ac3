"""Flat rows to and from OpenAI chat rows, the wire shape that nearly every program reads.

Only the spelling changes here. Nothing is dropped, paired or repaired: that is normalization, and
it comes first. For other providers hand the rows of `to_openai` to a converter such as litellm.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any, NoReturn

from ._content import coerce_odd_content, mend_surrogates
from ._reading import read_call, read_mapping, read_role, snapshot, type_name, usable_id

# Where a flat call keeps its arguments, and where other stores keep them.
_ARGUMENT_KEYS = ("args", "arguments", "input")

# What a flat call says in keys of its own; all its other keys are passed on.
_FLAT_CALL_KEYS = frozenset(("tool_call_id", "id", "type", "function", "name", *_ARGUMENT_KEYS))


def to_openai(
    messages: Iterable[object], *, repair_arguments: bool = False
) -> list[dict[str, Any]]:
    """Turn flat rows into OpenAI chat rows.

    A call `{"tool_call_id", "name", "args"}` becomes
    `{"id", "type": "function", "function": {"name", "arguments"}}`, its arguments JSON text.
    A call that has that shape already passes through with all its keys.

    Args:
        messages: Flat rows, as `normalize_conversation` returns them under `messages`. Each is a
            mapping with a `role`, and `content` that is text or a list of content parts.
        repair_arguments: Whether argument text that is no JSON object, such as the text of a call
            cut off half-way, becomes `"{}"`. As it stands such text is passed on.

    Returns:
        New rows. `content` is never `None`: a turn that only calls has `""`. Other keys of a row
        or a call are passed on; a key that holds `None` and an empty `tool_calls` are left out.

    Raises:
        TypeError: If `messages`, a row, or a value in one has a type that cannot be sent.
        ValueError: If a row has no role, a result or a call no usable id, or a call no name, or
            if `metadata` still holds what pairs calls and results. The message names the index
            and the key.

    Example:
        >>> to_openai([
        ...     {"role": "assistant", "content": "", "tool_calls": [
        ...         {"tool_call_id": "c1", "name": "tide", "args": {"port": "Varn"}}]},
        ...     {"role": "tool", "content": "2.1 m", "tool_call_id": "c1"},
        ... ])  # doctest: +NORMALIZE_WHITESPACE
        [{'role': 'assistant', 'content': '', 'tool_calls': [{'id': 'c1', 'type': 'function',
          'function': {'name': 'tide', 'arguments': '{"port":"Varn"}'}}]},
         {'role': 'tool', 'content': '2.1 m', 'tool_call_id': 'c1'}]
    """
    rows = []
    for index, entry in enumerate(snapshot(messages)):
        where = f"messages[{index}]"
        row = _read_row(entry, where)
        _refuse_stored(row, where)
        if row["role"] == "tool":
            row["tool_call_id"] = _result_id(row, where)
        if row["role"] == "assistant":
            calls = [
                _to_provider_call(call, f"{where}['tool_calls'][{position}]", repair_arguments)
                for position, call in enumerate(_pop_calls(row, where))
            ]
            if calls:
                row["tool_calls"] = calls
        rows.append(row)
    return rows


def from_openai(messages: Iterable[object]) -> list[dict[str, Any]]:
    """Turn OpenAI chat rows into flat rows, for storing or for reading.

    The inverse of `to_openai`, on what both shapes can say. A call that a flat one cannot say (a
    custom tool call, or one with keys of its own inside `function`) keeps its shape, which flat
    rows may hold too.

    Args:
        messages: OpenAI chat rows: mappings, or the message objects that the SDK returns.

    Returns:
        New rows. `args` is the mapping that the arguments spell, or their text where it is no
        JSON object that can be read without loss. `content` that was `None` is `""`; a key that
        holds `None` and an empty `tool_calls` are left out. Ids are kept as they are, usable or
        not: judging them is normalization.

    Raises:
        TypeError: If `messages`, a row, or a value in one has a type that no OpenAI row holds.
        ValueError: If a row has no role. The message names the index and the key.

    Example:
        >>> from_openai([
        ...     {"role": "assistant", "content": None, "tool_calls": [
        ...         {"id": "c1", "type": "function",
        ...          "function": {"name": "tide", "arguments": '{"port": "Varn"}'}}]},
        ... ])  # doctest: +NORMALIZE_WHITESPACE
        [{'role': 'assistant', 'content': '',
          'tool_calls': [{'tool_call_id': 'c1', 'name': 'tide', 'args': {'port': 'Varn'}}]}]
    """
    rows = []
    for index, entry in enumerate(snapshot(messages)):
        where = f"messages[{index}]"
        row = _read_row(entry, where)
        if row["role"] == "assistant":
            calls = [
                _to_flat_call(call, f"{where}['tool_calls'][{position}]")
                for position, call in enumerate(_pop_calls(row, where))
            ]
            if calls:
                row["tool_calls"] = calls
        rows.append(row)
    return rows


def _read_row(entry: object, where: str) -> dict[str, Any]:
    """A new row: role and content first, then every other key that holds something."""
    mapping = read_mapping(entry)
    if mapping is None:
        raise TypeError(f"{where} must be a message, not {type_name(entry)}")
    role = read_role(mapping.get("role"))
    if role is None:
        raise ValueError(f"{where}['role'] must be text that is not blank")
    content = mapping.get("content")
    if content is None:
        content = ""
    elif isinstance(content, str):
        content = mend_surrogates(str.__str__(content))
    elif not isinstance(content, list):
        _refuse(f"{where}['content']", "text or a list of content parts", content)
    row = {"role": role, "content": content}
    row.update((key, value) for key, value in mapping.items() if _says_more(key, value))
    return row


def _says_more(key: object, value: object) -> bool:
    return value is not None and key != "role" and key != "content"


def _refuse(where: str, expected: str, value: object) -> NoReturn:
    raise TypeError(f"{where} must be {expected}, not {type_name(value)}")


def _refuse_stored(row: dict[str, Any], where: str) -> None:
    """A stored row keeps its pairing in `metadata`, where no provider looks for it."""
    metadata = read_mapping(row.get("metadata")) or {}
    for key in ("tool_calls", "tool_call_id"):
        if metadata.get(key) and not row.get(key):
            raise ValueError(
                f"{where}['metadata'] holds {key!r}: this is a stored row, normalize it first"
            )


def _result_id(row: dict[str, Any], where: str) -> str:
    clean = usable_id(row.get("tool_call_id"))
    if clean is None:
        raise ValueError(f"{where}['tool_call_id'] must be a usable id")
    return clean


def _pop_calls(row: dict[str, Any], where: str) -> list[Any]:
    calls = row.pop("tool_calls", [])
    if not isinstance(calls, (list, tuple)):
        _refuse(f"{where}['tool_calls']", "a list of calls", calls)
    return list(calls)


def _to_provider_call(call: object, where: str, repair_arguments: bool) -> dict[str, Any]:
    found = read_call(call)
    if found is None:
        if read_mapping(call) is None:
            _refuse(where, "a call", call)
        raise ValueError(f"{where} must have a usable id under 'tool_call_id' or 'id'")
    call_id, mapping, _ = found
    mapping = {key: value for key, value in mapping.items() if key != "tool_call_id"}
    function = read_mapping(mapping.get("function"))
    if function is not None:
        said = _said(function, "name", ("arguments",), f"{where}['function']", repair_arguments)
        return {**mapping, "id": call_id, "type": "function", "function": {**function, **said}}
    if mapping.get("type") == "custom":
        return {**mapping, "id": call_id}
    name_key = "function" if isinstance(mapping.get("function"), str) else "name"
    said = _said(mapping, name_key, _ARGUMENT_KEYS, where, repair_arguments)
    others = {key: value for key, value in mapping.items() if key not in _FLAT_CALL_KEYS}
    return {"id": call_id, "type": "function", "function": said, **others}


def _said(
    mapping: dict[Any, Any], name_key: str, argument_keys: tuple[str, ...], where: str, repair: bool
) -> dict[str, str]:
    """The function's name and its arguments as text, from wherever the call keeps them."""
    name = mapping.get(name_key)
    if name is not None and not isinstance(name, str):
        _refuse(f"{where}[{name_key!r}]", "text", name)
    if not name:
        raise ValueError(f"{where}[{name_key!r}] must name the function that is called")
    holding = [key for key in argument_keys if mapping.get(key) is not None]
    key = holding[0] if holding else argument_keys[0]
    text = _arguments_text(mapping.get(key), f"{where}[{key!r}]", repair)
    return {"name": str.__str__(name), "arguments": text}


def _arguments_text(arguments: object, where: str, repair: bool) -> str:
    """Arguments as JSON text. No arguments are `{}`, and so is `[]`, as PHP writes an empty map."""
    if isinstance(arguments, str):
        text = mend_surrogates(str.__str__(arguments))
        return "{}" if repair and _read_object(text) is None else text
    if arguments is None or (isinstance(arguments, (list, tuple)) and not arguments):
        return "{}"
    if read_mapping(arguments) is None:
        _refuse(where, "a mapping or JSON text", arguments)
    text = coerce_odd_content(arguments)
    if not text:
        raise ValueError(f"{where} cannot be written as JSON")
    return text


def _to_flat_call(call: object, where: str) -> dict[str, Any]:
    mapping = read_mapping(call)
    if mapping is None:
        _refuse(where, "a call", call)
    function = read_mapping(mapping.get("function"))
    if function is None or not _flat_can_say(mapping, function):
        return dict(mapping)
    flat: dict[str, Any] = {}
    if "id" in mapping:
        flat["tool_call_id"] = mapping["id"]
    flat["name"] = function["name"]
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        read = _read_object_whole(arguments)
        flat["args"] = arguments if read is None else read
    elif arguments is not None:
        flat["args"] = arguments
    flat.update((key, value) for key, value in mapping.items() if key not in _FLAT_CALL_KEYS)
    return flat


def _flat_can_say(mapping: dict[Any, Any], function: dict[Any, Any]) -> bool:
    own_keys = mapping.keys() & _FLAT_CALL_KEYS
    return (
        own_keys <= {"id", "type", "function"}
        and mapping.get("type", "function") == "function"
        and isinstance(function.get("name"), str)
        and function.keys() <= {"name", "arguments"}
    )


def _read_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text spells, or `None` if it spells none."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _read_object_whole(text: str) -> dict[str, Any] | None:
    """The JSON object that a text spells, or `None` if there is none, or reading alters it."""
    try:
        value = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_distinct,
        )
        if "\\u" in text:  # an escape may be half a character, which leaves mended
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is no finite float")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value
