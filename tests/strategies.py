"""Nasty conversations, made from a source of randomness.

One maker serves both kinds of source: Hypothesis's own, whose examples shrink, and a seeded
`random.Random`, which is quick enough for tens of thousands.
"""

import json
from datetime import date, datetime, time, timezone
from decimal import Decimal
from random import Random
from types import MappingProxyType
from uuid import UUID

from hostile import (
    MAPPINGS,
    NO_MAPPINGS,
    Bits,
    Dict,
    Dumps,
    DumpsForever,
    DumpsItself,
    List,
    Named,
    Nested,
    Number,
    NumberEnum,
    RaisesWhenCompared,
    RaisingEnum,
    Real,
    RefusesToDump,
    Row,
    Text,
    TextEnum,
    Tuple,
)
from hypothesis import strategies as st
from rows import INTERRUPTED

ROLES = ["assistant"] * 6 + ["tool"] * 8 + ["user"] * 2 + ["system"] * 2
ODD_ROLES = ["developer", "function", "User", " tool ", "", "  ", None, 5, ["user"], True]
PYTHON_ROLES = [Text("tool"), *TextEnum, *Named, Nested.ROLE, RaisingEnum.MEMBER, b"user"]

IDS = ["c1", "c2", "c3", "c4"]
ODD_IDS = [" c1 ", "c2\n", "\tc3", "1", 1, -1, "C1", "é", "\ud800", "0", " 0 ", "00", 0, "", "  "]
ODD_IDS += [None, True, False, 1.0, ["c1"], {"id": "c1"}, 10**30]
PYTHON_IDS = [Text("c1"), Text(" c2 "), TextEnum.ID, Named.ID, NumberEnum.ONE, Number(1)]
PYTHON_IDS += [10**5000, b"c1", ("c1",), Decimal(1), UUID(int=1)]

TEXTS = ["", "ok", "hello", INTERRUPTED, "ünï", "𝄞", "\ud83d\ude00", "a\udc00b", " ", "0", "null"]
SCALARS = [None, True, False, 0, -7, 10**30, 0.1, 1e16, -0.0, float("nan"), float("inf")]
PYTHON_SCALARS = [
    Text("held"),
    Text(INTERRUPTED),
    Text("\ud800"),
    Number(7),
    Real(0.5),
    10**5000,
    *TextEnum,
    *Named,
    *NumberEnum,
    *Bits,
    Nested.ROLE,
    RaisingEnum.MEMBER,
    date(2024, 2, 29),
    datetime(2024, 2, 29, 12, 30, tzinfo=timezone.utc),
    time(12, 30),
    UUID(int=7),
    Decimal("1.50"),
    Decimal("NaN"),
    b"bytes",
    1j,
    {1, 2},
]
PYTHON_KEYS = [None, True, 1, 1.5, float("nan"), 10**5000, Text("k"), TextEnum.ID, Named.ID, (1,)]


class Maker:
    """Makes one conversation.

    Args:
        random: where the choices come from.
        oddness: how likely each part is something else than it should be.
        plain: whether to stay with what JSON holds.
    """

    def __init__(self, random, oddness, plain):
        self.random = random
        self.oddness = oddness
        self.plain = plain

    def odd(self):
        return self.random.random() < self.oddness

    def one(self, usual, odd, python):
        if not self.odd():
            return self.random.choice(usual)
        if self.plain or self.random.randrange(2):
            return self.random.choice(odd)
        return self.random.choice(python)

    def role(self):
        return self.one(ROLES, ODD_ROLES, PYTHON_ROLES)

    def id(self):
        return self.one(IDS, ODD_IDS, PYTHON_IDS)

    def text(self):
        return self.random.choice(TEXTS)

    def content(self, depth=3):
        choice = self.random.randrange(3 if depth and self.odd() else 2)
        if choice == 0:
            return self.text()
        if choice == 1:
            return self.one(TEXTS, SCALARS, PYTHON_SCALARS)
        return self.structure(depth - 1)

    def structure(self, depth):
        parts = [self.content(depth) for _ in range(self.random.randrange(3))]
        made = dict(zip(("type", "ké", "\ud800"), parts, strict=False))
        choice = self.random.randrange(2 if self.plain else 12)
        if choice == 0:
            return parts
        if choice == 1:
            return made
        if choice == 2:
            return {self.random.choice(PYTHON_KEYS): parts}
        if choice == 3:
            return List(parts)
        if choice == 4:
            return Tuple(parts)
        if choice == 5:
            return circular(parts)
        if choice == 6:
            return deep(self.random.choice((900, 1100)), made)
        if choice == 7:
            return self.random.choice((RefusesToDump(), DumpsItself(), DumpsForever()))
        if choice == 8:
            return self.random.choice(NO_MAPPINGS)
        if choice == 9:
            return Dumps(parts)
        if choice == 10:
            return Row(role="user", content=made)
        return self.any_mapping({"type": "text", "text": parts})

    def any_mapping(self, fields):
        if self.plain:
            return fields
        return self.random.choice(list(MAPPINGS.values()))(fields)

    def junk(self):
        if self.plain:
            return self.content()
        return self.random.choice(NO_MAPPINGS)

    def call(self):
        if self.odd():
            return self.junk()
        call = {self.random.choice(("id", "tool_call_id")): self.id(), "name": "search"}
        if self.odd():
            call[self.random.choice(("id", "tool_call_id"))] = self.id()
        if self.odd():
            return self.any_mapping(call)
        return call

    def calls(self):
        calls = [self.call() for _ in range(self.random.choice((0, 1, 1, 2, 3)))]
        if not self.odd():
            return calls
        choice = self.random.randrange(5 if self.plain else 8)
        if choice == 0:
            return dict(zip(("0", "2", "5"), calls, strict=False))
        if choice == 1:
            return calls[0] if calls else None
        if choice == 2:
            return as_json(calls, "[]")
        if choice == 3:
            return self.random.choice((None, False, 0, 0.0, "", " ", "null", "0", {}, "x", 5, True))
        if choice == 4:
            return self.junk()
        if choice == 5:
            return tuple(calls)
        if choice == 6:
            return List(calls)
        return self.random.choice((Decimal(0), set(), b"", Number(0), Text("  "), Dict(a=calls)))

    def metadata(self, fields):
        if not self.odd():
            return fields
        choice = self.random.randrange(3 if self.plain else 4)
        if choice == 0:
            return as_json(fields, "{}")
        if choice == 1:
            return self.random.choice(("", "not json", "[]", "null", 5, ["x"], None, "{"))
        if choice == 2:
            return self.junk()
        return self.any_mapping(fields)

    def entry(self):
        if self.odd():
            return self.junk()
        role = self.role()
        entry = {"role": role, "content": self.content()}
        named = {}
        spelled = role if type(role) is str else self.random.choice(ROLES)
        if spelled == "assistant" or self.odd():
            named["tool_calls"] = self.calls()
        if spelled == "tool" or self.odd():
            named["tool_call_id"] = self.id()
        if self.odd():
            named["healed"] = self.random.choice((True, False, None, 1, "true"))
        shape = self.random.randrange(4)
        if shape == 0:
            entry["metadata"] = self.metadata(named)
            entry["timestamp"] = 1755000000
        elif shape == 1 and self.odd():
            entry["metadata"] = self.metadata(named)
            entry["tool_calls"] = self.calls()
            entry["tool_call_id"] = self.id()
        else:
            entry.update(named)
        if self.odd():
            del entry[self.random.choice(list(entry))]
        if not self.odd():
            return entry
        if self.plain or self.random.randrange(3):
            return self.any_mapping(entry)
        key = RaisesWhenCompared(self.random.choice(("role", "metadata", "healed", "else")))
        return {key: 1, **entry} if key.text not in entry else {**entry, 1: key}

    def history(self):
        """A conversation made row by row, or a sound one that went through something."""
        if self.random.randrange(2):
            return [self.entry() for _ in range(self.random.randrange(12))]
        rows = self.sound_rows(self.random.randrange(1, 4))
        for _ in range(self.random.randrange(6)):
            self.disturb(rows)
        return rows

    def sound_rows(self, turns):
        rows = [{"role": "system", "content": "be brief"}] if self.random.randrange(2) else []
        ids = IDS.copy()
        for _ in range(turns):
            rows.append({"role": "user", "content": self.text()})
            called = [ids.pop(0) for _ in range(self.random.randrange(3)) if ids]
            calls = [{"id": id, "name": "search"} for id in called]
            turn = {"role": "assistant", "content": self.text()}
            stored = self.random.randrange(2)
            if calls:
                rows.append({**turn, **self.shaped({"tool_calls": calls}, stored)})
            for id in called:
                answer = {"role": "tool", "content": self.text()}
                rows.append({**answer, **self.shaped({"tool_call_id": id}, stored)})
            if self.random.randrange(2):
                rows.append(turn)
        return rows

    def shaped(self, named, stored):
        return {"metadata": named, "timestamp": 5} if stored else named

    def disturb(self, rows):
        if not rows:
            return
        place = self.random.randrange(len(rows))
        row = rows[place]
        deed = self.random.randrange(8)
        if deed == 0:
            del rows[place]
        elif deed == 1:
            rows.insert(self.random.randrange(len(rows)), rows.pop(place))
        elif deed == 2:
            rows.insert(self.random.randrange(len(rows)), row)
        elif deed == 3:
            rows.insert(place, self.entry())
        elif type(row) is not dict or {type(key) for key in row} != {str}:
            return
        elif type(row.get("role")) is str and row["role"] == "tool":
            rows.insert(place + self.random.randrange(2), self.placeholder(row))
        else:
            rows[place] = {**row, "content": self.random.choice((INTERRUPTED, "", "again"))}

    def placeholder(self, row):
        choice = self.random.randrange(3)
        if choice == 0:
            return {**row, "healed": True}
        if choice == 1 and type(row.get("metadata")) is dict:
            return {**row, "metadata": self.metadata({**row["metadata"], "healed": True})}
        return {**row, "content": INTERRUPTED}


def circular(parts):
    parts.append(MappingProxyType({"around": parts}))
    return parts


def deep(levels, value):
    for _ in range(levels):
        value = [value]
    return value


def as_json(value, otherwise):
    """JSON text of a value; of another where the value has none."""
    try:
        return json.dumps(value)
    except Exception:
        return otherwise


class Case:
    """A conversation that a failing test can show, whatever it is made of."""

    def __init__(self, messages):
        self.messages = messages

    def __repr__(self):
        return shown(self.messages)


def shown(value, depth=8):
    kind = type(value)
    if kind in (dict, Dict):
        pairs = (f"{shown(k)}: {shown(v, depth - 1)}" for k, v in dict.items(value))
        text = f"{{{', '.join(pairs)}}}" if depth else "{...}"
    elif kind in (list, List):
        parts = (shown(part, depth - 1) for part in list.__iter__(value))
        text = f"[{', '.join(parts)}]" if depth else "[...]"
    elif kind is int and abs(value) > 10**100:
        text = "<a huge int>"
    else:
        try:
            text = repr(value)
        except Exception:
            text = "<no repr>"
    return text if kind in (dict, list, str, int, float, bool, type(None)) else kind.__name__ + text


@st.composite
def histories(draw, randoms, plain):
    random = draw(randoms)
    oddness = random.choice((0.0, 0.05, 0.05, 0.25))
    return Case(Maker(random, oddness, plain).history())


SHRINKING = st.randoms(use_true_random=False)
SEEDED = st.builds(Random, st.integers(0, 2**64 - 1))  # no shrinking, and much quicker


def plain_histories(randoms=SHRINKING):
    """Conversations as JSON holds them, well-formed and not."""
    return histories(randoms, plain=True)


def nasty_histories(randoms=SHRINKING):
    """Conversations with anything in them."""
    return histories(randoms, plain=False)
