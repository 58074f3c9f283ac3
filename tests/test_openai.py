"""The OpenAI adapter: what each shape says in the other, what passes on, and what is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from flowdrop_fast import normalize_conversation
from flowdrop_fast.openai import from_openai, to_openai

FLAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "tide?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"tool_call_id": "c1", "name": "tide", "args": {"port": "Värn", "at": [1, 2.5, None]}},
            {"tool_call_id": "c2", "name": "wind", "args": {}},
        ],
    },
    {"role": "tool", "content": "2.1 m", "tool_call_id": "c1"},
    {"role": "tool", "content": "", "tool_call_id": "c2"},
    {"role": "assistant", "content": "2.1 m"},
]

OPENAI = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "tide?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "tide", "arguments": '{"port":"Värn","at":[1,2.5,null]}'},
            },
            {"id": "c2", "type": "function", "function": {"name": "wind", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "content": "2.1 m", "tool_call_id": "c1"},
    {"role": "tool", "content": "", "tool_call_id": "c2"},
    {"role": "assistant", "content": "2.1 m"},
]


def sent(call: Any, **options: Any) -> dict[str, Any]:
    """One call as it leaves in OpenAI's shape."""
    [row] = to_openai([{"role": "assistant", "content": "", "tool_calls": [call]}], **options)
    [found] = row["tool_calls"]
    return dict(found)


def stored(call: Any) -> dict[str, Any]:
    """One call as it leaves in the flat shape."""
    [row] = from_openai([{"role": "assistant", "content": None, "tool_calls": [call]}])
    [found] = row["tool_calls"]
    return dict(found)


def test_there_and_back() -> None:
    assert to_openai(FLAT) == OPENAI
    assert from_openai(OPENAI) == FLAT


def test_inputs_are_left_alone_and_rows_are_new() -> None:
    flat, openai = copy.deepcopy(FLAT), copy.deepcopy(OPENAI)
    rows = to_openai(flat) + from_openai(openai)
    for row in rows:
        row["content"] = "changed"
        row.pop("tool_calls", [{}]).clear()
    assert (flat, openai) == (FLAT, OPENAI)


def test_arguments_are_a_json_object_with_non_ascii_kept() -> None:
    call = sent({"tool_call_id": "c1", "name": "f", "args": {"b": "🌊", "a": float("nan")}})
    assert call["function"]["arguments"] == '{"b":"🌊","a":null}'


@pytest.mark.parametrize("call", [{}, {"args": None}, {"args": []}, {"args": ()}, {"args": {}}])
def test_no_arguments_are_an_empty_object(call: dict[str, Any]) -> None:
    assert sent({"tool_call_id": "c1", "name": "f", **call})["function"]["arguments"] == "{}"


@pytest.mark.parametrize(
    "call",
    [
        {"tool_call_id": "c1", "name": "f", "args": {"q": 1}},
        {"id": "c1", "name": "f", "args": {"q": 1}},
        {"id": "c1", "name": "f", "args": {"q": 1}, "type": "tool_call"},
        {"id": "c1", "name": "f", "input": {"q": 1}, "type": "tool_use"},
        {"id": "c1", "name": "f", "arguments": '{"q":1}'},
        {"id": "c1", "function": "f", "arguments": {"q": 1}},
        {"id": "c1", "function": {"name": "f", "arguments": {"q": 1}}},
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"q":1}'}},
        {"id": 0, "tool_call_id": " c1 ", "name": "f", "args": {"q": 1}},
    ],
)
def test_every_spelling_of_a_call(call: dict[str, Any]) -> None:
    assert sent(call) == {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"q":1}'},
    }


def test_a_provider_call_keeps_all_its_keys() -> None:
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": "{ }", "strict": True},
        "extra_content": {"google": {"thought_signature": "x"}},
    }
    assert sent(call) == call
    assert stored(call) == call  # `strict` has no place in a flat call


def test_a_flat_call_keeps_its_other_keys() -> None:
    flat = {"tool_call_id": "c1", "name": "f", "args": {}, "thought_signature": "x"}
    call = sent(flat)
    assert call["thought_signature"] == "x"
    assert stored(call) == flat


def test_a_custom_tool_call_keeps_its_shape() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "grep", "input": "x"}}
    assert sent(call) == call
    assert stored(call) == call


@pytest.mark.parametrize(
    "call", [{"type": "custom", "custom": {"name": "f"}}, {"function": {"name": "f"}}]
)
def test_an_id_in_the_flat_place_moves_to_the_one_of_the_provider(call: dict[str, Any]) -> None:
    made = sent({"tool_call_id": "c1", **call})
    assert made["id"] == "c1"
    assert "tool_call_id" not in made


def test_other_keys_of_a_row_are_passed_on_and_none_is_left_out() -> None:
    row = {"role": "assistant", "content": "hi", "name": "porter", "refusal": None}
    assert to_openai([row]) == from_openai([row])
    assert to_openai([row]) == [{"role": "assistant", "content": "hi", "name": "porter"}]


@pytest.mark.parametrize("calls", [None, [], ()])
def test_empty_calls_are_left_out(calls: object) -> None:
    row = {"role": "assistant", "content": None, "tool_calls": calls}
    assert to_openai([row]) == from_openai([row]) == [{"role": "assistant", "content": ""}]


def test_content_parts_pass_as_they_are() -> None:
    parts = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {}}]
    [row] = to_openai([{"role": "user", "content": parts}])
    assert row["content"] is parts


TEXTS_THAT_SPELL_NO_OBJECT = ["", "  ", '{"a":', "null", "[1]", '"x"', '{"a":NaN}', "[" * 100_000]


@pytest.mark.parametrize("text", TEXTS_THAT_SPELL_NO_OBJECT, ids=range(8))
def test_argument_text_is_repaired_only_when_asked(text: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": text}}
    assert sent(call)["function"]["arguments"] == text
    assert sent(call, repair_arguments=True)["function"]["arguments"] == "{}"
    assert stored(call)["args"] == text
    assert sent(stored(call)) == call


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":1e999}', '{ "a" : 1 }', "{}"])
def test_what_is_a_json_object_is_never_repaired(text: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": text}}
    assert sent(call, repair_arguments=True) == call


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', '{"a":1e999}', '{"a":{"b":1,"b":1}}', '{"a":"\\ud83c"}']
)
def test_argument_text_that_reading_would_alter_stays_text(text: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": text}}
    assert stored(call) == {"tool_call_id": "c1", "name": "f", "args": text}
    assert sent(stored(call)) == call


def test_from_openai_keeps_what_is_missing_missing() -> None:
    assert stored({"function": {"name": "f"}}) == {"name": "f"}
    assert stored({"id": "", "function": {"name": "f", "arguments": None}}) == {
        "tool_call_id": "",
        "name": "f",
    }


def test_from_openai_takes_arguments_that_are_no_text_as_they_are() -> None:
    assert stored({"id": "c1", "function": {"name": "f", "arguments": {"q": 1}}}) == {
        "tool_call_id": "c1",
        "name": "f",
        "args": {"q": 1},
    }


class Function(BaseModel):
    """Like the SDK's."""

    name: str
    arguments: str


class Call(BaseModel):
    """Like the SDK's."""

    id: str
    type: str = "function"
    function: Function


class SdkMessage(BaseModel):
    """Like the SDK's: every key is there, and most hold nothing."""

    role: str = "assistant"
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None


def test_sdk_objects_are_read() -> None:
    message = SdkMessage(
        tool_calls=[Call(id="c1", function=Function(name="f", arguments='{"a":1}'))]
    )
    flat = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"tool_call_id": "c1", "name": "f", "args": {"a": 1}}],
    }
    assert from_openai([message]) == [flat]
    assert to_openai([message]) == to_openai([flat])


@dataclass
class Arguments:
    """Arguments that are no mapping, and can be read as one."""

    port: str


def test_arguments_are_what_can_be_read_as_a_mapping() -> None:
    call = sent({"tool_call_id": "c1", "name": "f", "args": Arguments("Varn")})
    assert call["function"]["arguments"] == '{"port":"Varn"}'


def in_turn(call: object) -> list[Any]:
    return [
        {"role": "user"},
        {"role": "assistant", "tool_calls": [{"id": "c0", "name": "f"}, call]},
    ]


AT = "messages[1]['tool_calls'][1]"


@pytest.mark.parametrize(
    ("messages", "error", "said"),
    [
        (None, TypeError, "messages must be an iterable of entries, not NoneType"),
        ("text", TypeError, "messages must be an iterable of entries, not str"),
        ([{"role": "user"}, 7], TypeError, "messages[1] must be a message, not int"),
        ([{"content": "x"}], ValueError, "messages[0]['role'] must be text that is not blank"),
        ([{"role": " "}], ValueError, "messages[0]['role'] must be text that is not blank"),
        (
            [{"role": "user", "content": {"a": 1}}],
            TypeError,
            "messages[0]['content'] must be text or a list of content parts, not dict",
        ),
        (
            [{"role": "assistant", "tool_calls": {"a": 1}}],
            TypeError,
            "messages[0]['tool_calls'] must be a list of calls, not dict",
        ),
        ([{"role": "tool"}], ValueError, "messages[0]['tool_call_id'] must be a usable id"),
        (in_turn("x"), TypeError, f"{AT} must be a call, not str"),
        (
            in_turn({"name": "f"}),
            ValueError,
            f"{AT} must have a usable id under 'tool_call_id' or 'id'",
        ),
        (
            in_turn({"id": "c1"}),
            ValueError,
            f"{AT}['name'] must name the function that is called",
        ),
        (
            in_turn({"id": "c1", "function": {"name": ""}}),
            ValueError,
            f"{AT}['function']['name'] must name the function that is called",
        ),
        (
            in_turn({"id": "c1", "function": {"name": 7}}),
            TypeError,
            f"{AT}['function']['name'] must be text, not int",
        ),
        (
            in_turn({"id": "c1", "name": "f", "args": [1]}),
            TypeError,
            f"{AT}['args'] must be a mapping or JSON text, not list",
        ),
        (
            in_turn({"id": "c1", "name": "f", "args": {"a": {1}}}),
            ValueError,
            f"{AT}['args'] cannot be written as JSON",
        ),
        (
            in_turn({"id": "c1", "function": {"name": "f", "arguments": 7}}),
            TypeError,
            f"{AT}['function']['arguments'] must be a mapping or JSON text, not int",
        ),
        (
            [{"role": "assistant", "metadata": {"tool_calls": [{"id": "c1"}]}}],
            ValueError,
            "messages[0]['metadata'] holds 'tool_calls': this is a stored row, normalize it first",
        ),
    ],
)
def test_to_openai_refuses(messages: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        to_openai(messages)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ({"role": "user"}, "messages must be an iterable of entries, not dict"),
        ([None], "messages[0] must be a message, not NoneType"),
        ([{"role": "user", "content": 7}], "messages[0]['content'] must be text"),
        ([{"role": "assistant", "tool_calls": "x"}], "messages[0]['tool_calls'] must be a list"),
        (in_turn("x"), f"{AT} must be a call, not str"),
    ],
)
def test_from_openai_refuses(messages: Any, said: str) -> None:
    with pytest.raises(TypeError) as caught:
        from_openai(messages)
    assert str(caught.value).startswith(said)


def test_options_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        to_openai([], True)  # type: ignore[misc]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
IDS = st.text("abc_:0", min_size=1, max_size=6).filter(lambda id: id != "0")
NAMES = st.text("abc_", min_size=1, max_size=6)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT | FLOATS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
ARGS = st.dictionaries(TEXT, JSON_VALUES, max_size=3)
OTHER_KEYS = st.dictionaries(
    st.sampled_from(["thought_signature", "index"]), st.integers(), max_size=2
)


@st.composite
def flat_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows that both shapes can say."""
    rows: list[dict[str, Any]] = []
    for role in draw(st.lists(ROLES, max_size=6)):
        row: dict[str, Any] = {"role": role, "content": draw(TEXT)}
        if role == "tool":
            row["tool_call_id"] = draw(IDS)
        if role == "assistant" and draw(st.booleans()):
            row["tool_calls"] = [
                {
                    "tool_call_id": draw(IDS),
                    "name": draw(NAMES),
                    "args": draw(ARGS),
                    **draw(OTHER_KEYS),
                }
                for _ in range(draw(st.integers(1, 3)))
            ]
        rows.append(row)
    return rows


@given(flat_rows())
def test_round_trip_is_the_identity(rows: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(rows)
    openai = to_openai(rows)
    assert from_openai(openai) == rows == before
    assert to_openai(from_openai(openai)) == openai
    assert to_openai(openai) == openai
    for row in openai:
        for call in row.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


@given(flat_rows())
def test_both_shapes_normalize_to_the_same_history(rows: list[dict[str, Any]]) -> None:
    flat, dropped = normalize_conversation(rows)
    again, dropped_again = normalize_conversation(to_openai(rows))
    assert (to_openai(flat), dropped) == (to_openai(again), dropped_again)


@given(st.text() | JSON_VALUES.map(json.dumps))
def test_any_argument_text_comes_back_with_the_same_meaning(text: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": text}}
    back = sent(stored(call))["function"]["arguments"]
    try:
        meaning = json.loads(text)
    except ValueError:
        assert back == sent(call)["function"]["arguments"]
    else:
        assert back == text or json.loads(back) == meaning
