"""What must hold of a conversation, and of two, whatever they are made of."""

import dataclasses
from collections import ChainMap, UserDict
from types import MappingProxyType

import pydantic
from hostile import CallersError

from flowdrop_fast import Record

KEYS = {
    "assistant": ({"role", "content"}, {"role", "content", "tool_calls"}),
    "tool": ({"role", "content", "tool_call_id"},),
}


def assert_sendable(messages):
    """Every line of *Sendable*, read from the messages alone."""
    assert type(messages) is list
    declared = set()
    expected = []  # results that have to come next
    seen_other = False
    for row in messages:
        assert type(row) is dict
        role, content = row["role"], row["content"]
        assert type(role) is str
        assert role.strip()
        assert type(content) is str
        content.encode()
        assert set(row) in KEYS.get(role, ({"role", "content"},))
        assert list(row)[:2] == ["role", "content"]
        if role == "system":
            assert not seen_other
        seen_other = seen_other or role != "system"
        if role == "tool":
            assert expected
            assert expected.pop(0) == row["tool_call_id"]
            assert type(row["tool_call_id"]) is str
            continue
        assert not expected
        if "tool_calls" in row:
            assert type(row["tool_calls"]) is list
            assert row["tool_calls"]
            expected = [call_id(call) for call in row["tool_calls"]]
            assert not declared.intersection(expected)
            declared.update(expected)
            assert len(set(expected)) == len(expected)
    assert not expected


def call_id(call):
    """The id of a call that has left: usable as it stands."""
    assert type(call) is dict
    for key in ("tool_call_id", "id"):
        id = call.get(key)
        if isinstance(id, str) and str.strip(id) not in ("", "0"):
            text = str.__str__(id)
            assert text == text.strip()
            return text
        assert not isinstance(id, int) or isinstance(id, bool) or id == 0
    raise AssertionError(f"no usable id in {call}")


def children(value):
    """What a container holds, read without running any of its own code."""
    kind = type(value)
    if issubclass(kind, dict):
        return [part for item in dict.items(value) for part in item]
    if issubclass(kind, list):
        return list(list.__iter__(value))
    if issubclass(kind, tuple):
        return list(tuple.__iter__(value))
    if issubclass(kind, (UserDict, pydantic.BaseModel)) or dataclasses.is_dataclass(kind):
        return [object.__getattribute__(value, "__dict__")]
    if kind is ChainMap:
        return list(value.maps)
    if kind is MappingProxyType:
        return [part for item in value.items() for part in item]
    said = getattr(value, "said", None) if kind.__name__ == "Dumps" else None
    return [] if said is None else [said]


def frozen(value):
    """Each object below a value: its type and what it holds, by identity. It keeps them alive."""
    found = {}
    below = [value]
    while below:
        part = below.pop()
        if id(part) not in found:
            held = children(part)
            found[id(part)] = (part, [id(child) for child in held])
            below.extend(held)
    return found


def assert_unchanged(before, value):
    after = frozen(value)
    assert before.keys() == after.keys()
    for address, (_, held) in before.items():
        assert after[address][1] == held


def containers(before):
    """The identities of the dicts and lists of an input that was frozen."""
    return {
        address for address, (part, _) in before.items() if issubclass(type(part), (dict, list))
    }


def outcome(function, *arguments, **options):
    """What a function returns, or the type and message of what it raises."""
    try:
        return "returned", function(*arguments, **options)
    except CallersError:
        raise
    except Exception as error:
        return "raised", (type(error), str(error))


def assert_same(one, other, shared):
    """Equal values of equal types; and what the one shares with the input, the other shares too.

    Args:
        one: an output, or part of one.
        other: the other backend's.
        shared: identities of the containers of the input.
    """
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        kind = type(left)
        assert kind is type(right)
        if id(left) in shared or id(right) in shared:
            assert left is right
        elif issubclass(kind, (dict, list, tuple)):
            pairs += zip(children(left), children(right), strict=True)
        elif kind is Record:
            pairs.append((dataclasses.astuple(left), dataclasses.astuple(right)))
        else:
            assert left is right or left == right
