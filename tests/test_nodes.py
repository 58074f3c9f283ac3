"""The three nodes: their names, their ports and schemas, and what passes through."""

import json

import pytest
from hostile import MAPPINGS, NO_MAPPINGS, Dict, List, NoClass, Text, Tuple
from rows import interrupted, result, system, turn, user
from test_vectors import vectors

from flowdrop_fast import assemble_messages, nodes
from flowdrop_fast.nodes import ConversationNormalize, MessageAssemble, TextToMessage


@pytest.fixture
def on_backend(backend, monkeypatch):
    """The nodes, on one of the backends."""
    monkeypatch.setattr(nodes, "backend", backend)


NODES = {
    "conversation_normalize": (ConversationNormalize(), {"messages"}, {"messages", "dropped"}),
    "text_to_message": (
        TextToMessage(),
        {"text", "role", "tool_call_id"},
        {"messages", "message"},
    ),
    "message_assemble": (MessageAssemble(["b", "a"]), {"a", "b"}, {"messages"}),
}

each_node = pytest.mark.parametrize(
    ("name", "node", "inputs", "outputs"),
    [pytest.param(name, *rest, id=name) for name, rest in NODES.items()],
)


@each_node
def test_names_and_ports(name, node, inputs, outputs):
    """| node | inputs | outputs |"""
    assert node.id == name
    assert set(node.input_schema["properties"]) == inputs
    assert set(node.output_schema["properties"]) == outputs
    assert set(node.process({})) == outputs


@each_node
def test_schemas_are_json(name, node, inputs, outputs):
    for schema in (node.input_schema, node.output_schema):
        assert json.loads(json.dumps(schema)) == schema
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["type"] == "object"
        assert set(schema.get("required", ())) <= set(schema["properties"])
    assert set(node.output_schema["required"]) == outputs
    assert not node.input_schema.get("required")
    assert node.__doc__
    assert name in node.__doc__
    assert inputs


def assert_fits(schema, value):
    """A value fits a schema, as far as the nodes' schemas use the language."""
    known = {"$schema", "type", "properties", "required", "additionalProperties", "items"}
    known |= {"minItems", "maxItems", "minimum", "maxProperties", "anyOf", "description"}
    assert set(schema) <= known
    if "anyOf" in schema:
        assert any(fits(option, value) for option in schema["anyOf"])
    types = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    names = schema.get("type", list(types))
    names = [names] if isinstance(names, str) else names
    assert type(value) in [types[name] for name in names]
    if type(value) is dict:
        assert set(schema.get("required", ())) <= set(value)
        if schema.get("additionalProperties") is False:
            assert set(value) <= set(schema["properties"])
        assert len(value) <= schema.get("maxProperties", len(value))
        for key, below in schema.get("properties", {}).items():
            if key in value:
                assert_fits(below, value[key])
    if type(value) is list:
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        for item in value:
            assert_fits(schema.get("items", {}), item)
    if "minimum" in schema:
        assert value >= schema["minimum"]


def fits(schema, value):
    try:
        assert_fits(schema, value)
    except AssertionError:
        return False
    return True


@vectors("normalize.json", "normalize_seen.json")
@pytest.mark.usefixtures("on_backend")
def test_conversation_normalize(case):
    node = ConversationNormalize()
    assert_fits(node.input_schema, {"messages": case["input"]})
    outputs = node.process({"messages": case["input"]})
    assert outputs == {"messages": case["messages"], "dropped": case["dropped"]}
    assert_fits(node.output_schema, outputs)


@vectors("text_to_message.json")
@pytest.mark.usefixtures("on_backend")
def test_text_to_message(case):
    node = TextToMessage()
    outputs = node.process(case["input"])
    assert outputs == {"messages": case["messages"], "message": case["message"]}
    assert_fits(node.output_schema, outputs)


def test_the_checks_can_fail():
    schema = ConversationNormalize.output_schema
    for wrong in (
        {"messages": []},
        {"messages": [], "dropped": -1},
        {"messages": [{"role": "user"}], "dropped": 0},
        {"messages": [user(name="ann")], "dropped": 0},
        {"messages": [turn()], "dropped": 0},
        {"messages": [user(5)], "dropped": 0},
    ):
        assert not fits(schema, wrong)
    assert not fits(TextToMessage.output_schema, {"messages": [user(), user()], "message": {}})


@pytest.mark.usefixtures("on_backend")
def test_unwired_messages():
    """At the *node* an unwired or `None` input is an empty list"""
    for inputs in ({}, {"messages": None}, {"messages": []}, {"other": 1}):
        assert ConversationNormalize().process(inputs) == {"messages": [], "dropped": 0}


@pytest.mark.parametrize("refused", ["text", {"role": "user"}, 5, b"x"], ids=repr)
@pytest.mark.usefixtures("on_backend")
def test_refused_messages(refused):
    with pytest.raises(TypeError, match=f"not {type(refused).__name__}$"):
        ConversationNormalize().process({"messages": refused})


@pytest.mark.usefixtures("on_backend")
def test_any_mapping_carries_inputs():
    inputs = MAPPINGS["mapping proxy"]({"messages": [turn("c1")]})
    outputs = ConversationNormalize().process(inputs)
    assert outputs["messages"] == [turn("c1"), interrupted("c1")]
    assert TextToMessage().process(MAPPINGS["UserDict"]({"text": 5}))["message"] == user("5")


# ---- message_assemble -------------------------------------------------------------------------

a, b, c = user("a"), system("b"), result("c1", "c")


def test_the_declared_order_of_the_ports():
    """The declared order of the ports is the order of the messages, whatever the names sort like"""
    pairs = [("z", [a]), ("a", b), ("10", [c]), ("9", [a])]
    assert assemble_messages(pairs) == [a, b, c, a]
    assert assemble_messages(dict(pairs)) == [a, b, c, a]
    assert assemble_messages(iter(pairs)) == [a, b, c, a]
    carried = dict(reversed(pairs))
    assert MessageAssemble(["z", "a", "10", "9"]).process(carried) == {"messages": [a, b, c, a]}
    assert MessageAssemble().process(dict(pairs)) == {"messages": [a, b, c, a]}


@pytest.mark.parametrize("as_list", [list, tuple, List, Tuple])
def test_a_port_that_carries_a_list(as_list):
    """gives those of its items that can be read as a mapping, in order, and nothing for other"""
    items = [a, *NO_MAPPINGS, b, {}, *(as_mapping(c) for as_mapping in MAPPINGS.values())]
    expected = [a, b, {}, *items[-len(MAPPINGS) :]]
    given = as_list(items)
    assert [id(row) for row in assemble_messages([("port", given)])][:2] == [id(a), id(b)]
    assert list(map(id, assemble_messages({"port": given})[3:])) == list(map(id, expected[3:]))


@pytest.mark.parametrize("as_mapping", MAPPINGS.values(), ids=MAPPINGS)
def test_a_port_that_carries_one(as_mapping):
    """one that carries one such value gives that one, … Rows pass through untouched"""
    row = as_mapping({"role": "user", "content": [1], "extra": 2})
    (given,) = assemble_messages({"port": row})
    assert given is row


@pytest.mark.parametrize("as_mapping", MAPPINGS.values(), ids=MAPPINGS)
def test_a_port_that_carries_an_empty_one(as_mapping):
    """unless it is empty (what `text_to_message` puts on `message` for no text)"""
    assert assemble_messages({"port": as_mapping({}), "other": [a]}) == [a]


@pytest.mark.parametrize(
    "value",
    [pytest.param(value, id=f"{n}-{type(value).__name__}") for n, value in enumerate(NO_MAPPINGS)],
)
def test_a_port_that_carries_nothing(value):
    """an unwired port, `None` or any other value gives nothing, and no placeholder"""
    assert assemble_messages([("one", value), ("other", a)]) == [a]
    node = MessageAssemble(["unwired", "one", "other"])
    assert node.process({"one": value, "other": a, "undeclared": [b]}) == {"messages": [a]}


def test_two_ports_of_one_name():
    """Two ports of one name are refused with a `ValueError` that names it."""
    with pytest.raises(ValueError, match="'twice'"):
        assemble_messages([("twice", [a]), ("once", None), ("twice", None)])
    with pytest.raises(ValueError, match="'twice'"):
        MessageAssemble(["twice", "once", "twice"])


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (None, TypeError),
        (5, TypeError),
        ("text", TypeError),
        (b"ab", TypeError),
        (NoClass(), TypeError),
        ([a], ValueError),
        (["ab"], ValueError),
        ([("one",)], ValueError),
        ([("one", [], 3)], ValueError),
        ([5], ValueError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_ports_that_are_none(refused, error):
    with pytest.raises(error, match=r"port.* not \w+$"):
        assemble_messages(refused)


@pytest.mark.parametrize("refused", ["text", ["a", 5], [None], 5, Text("ab")], ids=str)
def test_names_of_ports(refused):
    with pytest.raises(TypeError):
        MessageAssemble(refused)


def test_ports_of_a_lying_mapping():
    """A port that carries a `dict` subclass gives what it stores."""
    row = Dict(role="user")
    assert assemble_messages({"port": row})[0] is row


@pytest.mark.usefixtures("on_backend")
def test_assembled_rows_normalize():
    """What the nodes pass on to each other fits."""
    made = TextToMessage().process({"text": "be brief", "role": "system"})
    history = [user(), turn("c1")]
    ports = {"history": history, "system": made["message"], "more": made["messages"]}
    assembled = MessageAssemble(["history", "system", "more"]).process(ports)
    assert ConversationNormalize().process(assembled)["messages"] == [
        system(),
        system(),
        *history,
        interrupted("c1"),
    ]
