"""Made-up stored conversations, and what each must become, worked out the plain way."""

import json
import random

from flowdrop_fast import explain_conversation

ARGUMENTS = [
    {"city": "Oslo"},
    {"city": ["Oslo", "Bergen"]},
    {"city": {"name": "Oslo", "at": [59.9, 10.7]}},
    {"days": 3, "unit": None},
    {"days": "three"},
    '{"city": "Oslo"}',
    [],
    {},
    {"id": 2**70, "ratio": float("nan")},
]

UNREADABLE = [None, "", "{", "7", '"text"', "null", "{}", '{"messages": {}}', "[1e400]", "[" * 5000]


def make_text(seed):
    """One row: mostly a conversation, more or less torn; now and then something unreadable."""
    random_ = random.Random(seed)
    if random_.random() < 0.1:
        return random_.choice(UNREADABLE)
    messages = []
    if random_.random() < 0.5:
        messages.append({"role": "system", "content": "Be kind. Vær snill. 親切に。"})
    for turn in range(random_.randrange(1, 6)):
        messages.append({"role": "user", "content": f"And now? {turn} \U0001f600"})
        ids = [f"call_{turn}_{n}" for n in range(random_.randrange(4))]
        calls = [
            {"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}}
            for id, arguments in zip(ids, random_.choices(ARGUMENTS, k=len(ids)), strict=True)
        ]
        if calls:
            messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages += [{"role": "tool", "content": "rain", "tool_call_id": id} for id in ids]
        messages.append({"role": "assistant", "content": "Rain."})
    if random_.random() < 0.5:
        for _ in range(random_.randrange(1, 4)):
            tear(messages, random_)
    value = messages if random_.random() < 0.3 else {"id": seed, "messages": messages, "big": 2**80}
    return json.dumps(value, ensure_ascii=random_.random() < 0.5)


def tear(messages, random_):
    at = random_.randrange(len(messages) + 1)
    match random_.randrange(4):
        case 0 if messages:
            del messages[at - 1]
        case 1 if messages:
            messages.insert(at, random_.choice(messages))
        case 2:
            stray = [None, {}, {"role": "user", "content": 1}, {"role": "tool", "content": "late"}]
            messages.insert(at, random_.choice(stray))
        case _:
            random_.shuffle(messages)


def expected(text):
    """What a row becomes: text (or, where it changes, its value), drops, records, and if it failed.

    With the standard library alone, and nothing that the kernel is made of but the core.
    """
    try:
        value = json.loads(text, parse_float=_finite)
        messages = value if isinstance(value, list) else value["messages"]
        if not isinstance(messages, list):
            raise TypeError
    except (TypeError, ValueError, KeyError, RecursionError):
        return text, 0, [], True
    messages_, dropped, records = explain_conversation(messages)
    records = [
        {"kind": record.kind, "index": record.index, "id": record.id, "sentence": record.sentence}
        for record in records
    ]
    if repr(messages_) != repr(messages) and not _equal(messages_, messages):
        text = repr(messages_ if isinstance(value, list) else {**value, "messages": messages_})
    return text, dropped, records, False


def received(before, text, dropped, records, error):
    """A row that came back, as `expected` tells it."""
    if text != before:
        text = repr(json.loads(text))
    return text, dropped, json.loads(records), error is not None


def assert_rows(rows, texts):
    """Check rows of (text, dropped, records, error) against what their texts must become."""
    assert len(rows) == len(texts)
    for row, text in zip(rows, texts, strict=True):
        assert received(text, *row) == expected(text)


def _finite(text):
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


def _equal(one, other):
    """Equal but for the order of keys; a NaN equals itself."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
