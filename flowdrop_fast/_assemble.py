"""Assembling a message list from declared ports (MEM-4). The shape of rows is not its business."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._reading import is_a, read_mapping, stored_sequence, type_name


def assemble_messages(ports: Mapping[str, object] | Iterable[tuple[str, object]]) -> list[Any]:
    """Collect the messages that ports carry, in the order in which the ports are declared (MEM-4).

    Args:
        ports: a mapping of names to values, or a sequence of `(name, value)` pairs. A port carries
            a list (or tuple) of messages, or one message; whatever else it carries, `None` or an
            empty message included, gives nothing.

    Returns:
        The messages, by reference.

    Raises:
        ValueError: if two ports have one name, or a pair is no pair.
        TypeError: if `ports` is neither a mapping nor an iterable of pairs.

    >>> assemble_messages([("system", {"role": "system", "content": "be brief"}), ("history", [])])
    [{'role': 'system', 'content': 'be brief'}]
    """
    messages: list[Any] = []
    seen: set[object] = set()
    value: Any
    for name, value in _pairs(ports):
        if name in seen:
            raise ValueError(f"two ports are named {name!r}")
        seen.add(name)
        if is_a(value, (list, tuple)):
            messages.extend(item for item in stored_sequence(value) if _is_message(item))
        elif read_mapping(value):
            messages.append(value)
    return messages


def _is_message(item: object) -> bool:
    return read_mapping(item) is not None


def _pairs(ports: Any) -> list[tuple[Any, Any]]:
    if is_a(ports, Mapping):
        return list(ports.items())
    if is_a(ports, (str, bytes, bytearray)) or not is_a(ports, Iterable):
        raise TypeError(
            f"ports must be a mapping or pairs of name and value, not {type_name(ports)}"
        )
    pairs = list(ports)
    for place, pair in enumerate(pairs):
        if not is_a(pair, (list, tuple)) or len(pair) != 2:
            raise ValueError(
                f"port {place} must be a pair of name and value, not {type_name(pair)}"
            )
    return pairs
