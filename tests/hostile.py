"""Values that lie, raise, or are what people really put into their lists instead of dicts."""

import dataclasses
import functools
from collections import ChainMap, OrderedDict, UserDict, defaultdict
from collections.abc import Mapping
from enum import Enum, Flag, IntEnum
from types import MappingProxyType
from typing import Any
from unittest.mock import MagicMock, Mock

import pydantic


class CallersError(Exception):
    """What the caller's own code raises; nobody may ever see it."""


def refuse(*_args, **_kwargs):
    raise CallersError("the caller's own code raised")


class Text(str):
    """A str that says something else than it holds."""

    __slots__ = ()
    __str__ = __repr__ = __format__ = lambda _self: "a lie"
    __eq__ = __bool__ = strip = encode = isascii = refuse
    __hash__ = str.__hash__


class Number(int):
    __str__ = __repr__ = lambda _self: "a lie"
    __eq__ = __hash__ = refuse


class Real(float):
    __str__ = __repr__ = lambda _self: "a lie"


class Dict(dict):
    """A dict whose every method lies or raises; what it stores is the truth."""

    __getitem__ = __contains__ = __eq__ = keys = values = get = copy = refuse

    def __iter__(self):
        return iter(["role"])

    def __len__(self):
        return 0

    def items(self):
        return [("role", "system")]


class List(list):
    __getitem__ = __contains__ = __eq__ = __len__ = copy = refuse

    def __iter__(self):
        return iter([{"id": "a lie"}])


class Tuple(tuple):
    __slots__ = ()
    __getitem__ = __contains__ = __eq__ = __len__ = refuse

    def __iter__(self):
        return iter([{"id": "a lie"}])


class RaisingMapping(Mapping):
    __getitem__ = __iter__ = __len__ = refuse


class RaisesLate(Mapping):
    """A mapping that can't keep what its keys promise."""

    __getitem__ = refuse

    def __iter__(self):
        return iter(["role", "content"])

    def __len__(self):
        return 2


class Named(Enum):
    """Plain members, which count as their values."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    ID = "c1"
    NOTHING = None
    LIST = (1, "two")
    INTERRUPTED = "Tool call was interrupted; no result."
    INNER = MappingProxyType({"a": 1})


class Nested(Enum):
    ROLE = Named.TOOL


class TextEnum(str, Enum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    ID = "c1"


class NumberEnum(IntEnum):
    ONE = 1


class Bits(Flag):
    A = 1


class RaisingEnum(Enum):
    MEMBER = 1
    value = property(refuse)


class EndlessEnum(Enum):
    """Whose member is its own value."""

    MEMBER = 1
    value = property(lambda self: self)


class NoClass:
    """Even asking what it is raises."""

    __class__ = property(refuse)


class NoAttributes:
    __getattribute__ = refuse


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")


@dataclasses.dataclass
class Row:
    role: Any
    content: Any


class Dumps:
    """An SDK's object: `model_dump` says what it holds."""

    def __init__(self, said):
        self.said = said

    def model_dump(self, **_options):
        return self.said


class RefusesToDump:
    model_dump = refuse


class NotCallable:
    model_dump = "no method"


class DumpsItself:
    def model_dump(self, **_options):
        return self


class DumpsForever:
    def model_dump(self, **_options):
        return [DumpsForever()]


class FakeDict:
    """Says that it is a dict, and is none."""

    __class__ = property(lambda _self: dict)


class RaisesWhenCompared:
    """A key that collides with a text and raises when it is compared."""

    def __init__(self, text):
        self.text = text

    def __hash__(self):
        return hash(self.text)

    __eq__ = refuse


class RaisesLater(RaisesWhenCompared):
    """The same, but only when it has been compared a number of times."""

    def __init__(self, text, patience):
        super().__init__(text)
        self.patience = patience

    __hash__ = RaisesWhenCompared.__hash__

    def __eq__(self, other):
        self.patience -= 1
        return refuse() if self.patience < 0 else self.text == other


@functools.cache
def dataclass_of(*names):
    return dataclasses.make_dataclass("Fields", names)


# What makes, of a dict with text keys, each kind of thing that can be read as the same mapping.
MAPPINGS = {
    "dict": dict,
    "dict subclass": Dict,
    "OrderedDict": OrderedDict,
    "defaultdict": lambda fields: defaultdict(list, fields),
    "UserDict": UserDict,
    "mapping proxy": MappingProxyType,
    "ChainMap": lambda fields: ChainMap(fields, dict.fromkeys(fields, "shadowed")),
    "model_dump": Dumps,
    "model_dump to a mapping": lambda fields: Dumps(MappingProxyType(fields)),
    "dataclass": lambda fields: dataclass_of(*fields)(**fields),
    "pydantic model": lambda fields: Model(**fields),
}


MOCKS = [Mock(), Mock(spec=dict), Mock(spec=str), Mock(spec=list), MagicMock()]


def forget_calls():
    """Let the mocks let go of their records: one of every call, and of the texts it names."""
    for mock in MOCKS:
        mock.reset_mock()


# What cannot be read as a mapping, or raises while it is read.
NO_MAPPINGS = [
    None,
    True,
    5,
    1.5,
    "text",
    b"bytes",
    [],
    [["role", "user"]],
    (),
    {"role"},
    object(),
    Ellipsis,
    dict,
    Model,
    Row,
    Named,
    Named.LIST,
    len,
    *MOCKS,
    RaisingMapping(),
    RaisesLate(),
    NoClass(),
    NoAttributes(),
    FakeDict(),
    NotCallable(),
    RefusesToDump(),
    Dumps(None),
    Dumps([("role", "user")]),
    DumpsItself(),
    DumpsForever(),
    iter([]),
    ValueError("an exception"),
]
