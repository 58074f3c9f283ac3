"""`ids="rescue"`: calls whose id is taken or unusable get one of their own, their results follow.

This runs before the pass and only renames: it hands on the same entries in the same places, with
the ids of some calls and results rewritten where they were read. What is dropped, made or moved is
still decided in the pass, which then finds each id declared once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ._content import is_interrupted
from ._reading import (
    CALL_ID_KEYS,
    UNUSABLE,
    is_a,
    lookup,
    read_call,
    read_calls,
    read_mapping,
    read_metadata,
    read_role,
    usable_id,
)
from ._results import REIDENTIFIED_CALL, REIDENTIFIED_RESULT, Note
from ._rewriting import with_calls, with_id

Fields = dict[Any, Any]

NEEDS_READING = object()


def rescue_ids(entries: list[Any], interrupted: str, changes: list[Note]) -> list[Any]:
    """Give every call an id of its own, and every result the id of the call it belongs to.

    Args:
        entries: the entries of one list.
        interrupted: the text of synthetic results.
        changes: where each new id is noted.

    Returns:
        The entries, those with a new id as shallow copies.
    """
    if _has_ids_of_its_own(entries):
        return entries
    rows = [_read_row(entry, interrupted) for entry in entries]
    namer = _Namer(id for row in rows if row is not None for id in _ids_of(row))
    ledger = _Ledger()
    rescued = list(entries)
    for index, row in enumerate(rows):
        if row is None:
            continue
        if row.role == "user":
            ledger.begin_user_turn()
        elif row.role == "assistant":
            calls = _rename_calls(row, namer, ledger, index, changes)
            if calls is not None:
                rescued[index] = with_calls(row.fields, row.metadata, calls, row.lifted)
        else:
            call = ledger.answer(row)
            if call is not None and call.id != row.id:
                changes.append((REIDENTIFIED_RESULT, index, call.id))
                metadata = row.metadata if row.lifted else None
                rescued[index] = with_id(row.fields, metadata, call.id)
    return rescued


def _has_ids_of_its_own(entries: list[Any]) -> bool:
    """Whether each call has a usable id that no other has, and each result a usable one.

    Then there is nothing to rename. It is what most histories are like, so they are not read as
    closely as the others: what is odd in any way is left to those who do.
    """
    declared: set[str] = set()
    try:
        for entry in entries:
            if type(entry) is not dict:
                return False
            role = entry.get("role")
            if type(role) is not str:
                return False
            if role == "assistant":
                calls = entry.get("tool_calls")
                if calls is None or calls == []:
                    calls = _of_metadata(entry, "tool_calls")
                if calls is None:
                    continue
                if type(calls) is not list:
                    return False
                for call in calls:
                    usable = read_call(call)
                    if usable is None or usable[0] in declared:
                        return False
                    declared.add(usable[0])
            elif role == "tool":
                id = entry.get("tool_call_id")
                if id is None:
                    id = _of_metadata(entry, "tool_call_id")
                if type(id) is not str or id.strip() in UNUSABLE:
                    return False
    except Exception:  # a stored key's own __eq__ may raise
        return False
    return True


def _of_metadata(entry: Fields, key: str) -> Any:
    metadata = entry.get("metadata")
    if metadata is None:
        return None
    return metadata.get(key) if type(metadata) is dict else NEEDS_READING


class _Row(NamedTuple):
    """A user turn, a turn that makes calls, or a result, as far as ids are concerned."""

    role: str
    fields: Fields
    metadata: Fields | None = None
    lifted: bool = False  # whether the calls or the id were read from the metadata
    calls: Sequence[Any] = ()
    id: str | None = None
    guess: bool = False  # whether a result is a placeholder


def _read_row(entry: object, interrupted: str) -> _Row | None:
    fields = read_mapping(entry)
    if fields is None:
        return None
    try:  # the very values that the pass reads: it drops the entry where one cannot be looked up
        role = fields.get("role")
        odd = type(role) is not str
        content = fields.get("content")
        metadata = calls = answered = healed = None
        if odd or role in ("assistant", "tool"):
            metadata = fields.get("metadata")
        if odd or role == "assistant":
            calls = fields.get("tool_calls")
        if odd or role == "tool":
            answered = fields.get("tool_call_id")
            healed = fields.get("healed")
    except Exception:  # a stored key's own __eq__ may raise
        return None
    role = read_role(role)
    if role == "user":
        return _Row(role, fields)
    if role == "assistant":
        metadata = read_metadata(metadata)
        found = read_calls(calls)
        lifted = not found
        if lifted:
            found = read_calls(lookup(metadata, "tool_calls"))
        return _Row(role, fields, metadata, lifted, found)
    if role == "tool":
        metadata = read_metadata(metadata)
        id = usable_id(answered)
        lifted_id = usable_id(lookup(metadata, "tool_call_id")) if id is None else None
        guess = (
            healed is True
            or lookup(metadata, "healed") is True
            or is_interrupted(content, interrupted)
        )
        return _Row(role, fields, metadata, lifted_id is not None, (), id or lifted_id, guess)
    return None


def _ids_of(row: _Row) -> Iterator[str]:
    if row.id is not None:
        yield row.id
    for call in row.calls:
        usable = read_call(call)
        if usable is not None:
            yield usable[0]


def _rename_calls(
    row: _Row, namer: _Namer, ledger: _Ledger, index: int, changes: list[Note]
) -> list[Any] | None:
    """Enter a turn's calls into the ledger; its calls with their new ids, if there are any."""
    renamed = list(row.calls)
    declared: list[tuple[str | None, str, str | None]] = []
    changed = False
    for place, call in enumerate(row.calls):
        mapping = read_mapping(call)
        if mapping is None:
            continue  # no call at all: the pass drops it
        usable = read_call(mapping)
        declared_id = usable[0] if usable is not None else None
        keys = _id_keys(mapping, declared_id)
        if not keys:
            continue  # no id can be written: the pass drops this call, too
        id = namer.name(declared_id)
        if id != declared_id:
            changed = True
            changes.append((REIDENTIFIED_CALL, index, id))
            renamed[place] = {**mapping, **dict.fromkeys(keys, id)}
        declared.append((declared_id, id, _call_name(mapping)))
    ledger.declare(declared)
    return renamed if changed else None


def _id_keys(call: Fields, declared_id: str | None) -> list[str]:
    """The keys that a call has its id under, or the one that calls of its shape have it under."""
    if declared_id is not None:
        return [key for key in CALL_ID_KEYS if usable_id(lookup(call, key)) == declared_id]
    try:
        there = [key for key in CALL_ID_KEYS if key in call]
        return there[:1] or ["id" if "function" in call else "tool_call_id"]
    except Exception:  # a stored key's own __eq__ may raise
        return []


def _call_name(call: Fields) -> str | None:
    name = lookup(call, "name")
    if name is None:
        function = lookup(call, "function")
        name = function if is_a(function, str) else lookup(read_mapping(function), "name")
    return _plain_text(name)


def _plain_text(value: Any) -> str | None:
    return str.__str__(value) if is_a(value, str) else None


class _Namer:
    """Hands out ids: a free one as it is, for a taken or missing one a fresh one.

    Args:
        occurring: every usable id of the input; none of them is ever made up.
    """

    def __init__(self, occurring: Iterator[str]) -> None:
        self._occurring = set(occurring)
        self._declared: set[str] = set()
        self._next: dict[str, int] = {}

    def name(self, id: str | None) -> str:
        if id is None:
            return self._fresh("call_", 1)
        if id in self._declared:
            return self._fresh(f"{id}~", 2)
        self._declared.add(id)
        return id

    def _fresh(self, stem: str, first: int) -> str:
        number = self._next.get(stem, first)
        while f"{stem}{number}" in self._occurring:
            number += 1
        self._next[stem] = number + 1
        return f"{stem}{number}"


class _Call:
    """A declared call: what it leaves as, and how it stands."""

    __slots__ = ("answered", "declared_id", "guess", "id", "name", "order", "position", "turn")

    def __init__(self, declared_id: str | None, id: str, name: str | None) -> None:
        self.declared_id = declared_id
        self.id = id
        self.name = name
        self.turn = 0
        self.position = 0  # in its turn
        self.order = 0  # when it began to wait
        self.answered = False
        self.guess = False  # answered, but by a placeholder


class _Turn:
    """The calls of one turn, to find the only one that waits."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.open = _Only()
        self.guessed = _Only()

    def only_open(self) -> _Call | None:
        return self._at(self.open.position())

    def only_guessed(self) -> _Call | None:
        return self._at(self.guessed.position())

    def _at(self, position: int | None) -> _Call | None:
        return None if position is None else self.calls[position]


class _Only:
    """A set of positions that can say which is its only one; their sum tells, and takes no walk."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0

    def add(self, position: int) -> None:
        self._count += 1
        self._sum += position

    def remove(self, position: int) -> None:
        self._count -= 1
        self._sum -= position

    def position(self) -> int | None:
        return self._sum if self._count == 1 else None


class _Waiting:
    """Calls that wait for a result, in order. Calls that got one otherwise are skipped."""

    def __init__(self, guess: bool) -> None:
        self._guess = guess  # whether these are the calls that only a placeholder answers
        self._recent: deque[_Call] = deque()
        self._earlier: list[_Call] = []
        self._user_turns = 0

    def add(self, call: _Call, user_turns: int) -> None:
        self._age(user_turns)
        self._recent.append(call)

    def first_recent(self, user_turns: int) -> _Call | None:
        """The earliest since the last user turn."""
        self._age(user_turns)
        while self._recent and not self._waits(self._recent[0]):
            self._recent.popleft()
        return self._recent[0] if self._recent else None

    def best(self, user_turns: int) -> _Call | None:
        """The earliest since the last user turn or, if none waits there, the latest before."""
        call = self.first_recent(user_turns)
        if call is not None:
            return call
        while self._earlier and not self._waits(self._earlier[-1]):
            self._earlier.pop()
        return self._earlier[-1] if self._earlier else None

    def _waits(self, call: _Call) -> bool:
        return call.guess if self._guess else not call.answered

    def _age(self, user_turns: int) -> None:
        if user_turns != self._user_turns:
            self._user_turns = user_turns
            self._earlier.extend(self._recent)
            self._recent.clear()


class _Tier:
    """The calls that a result may belong to: by their declared id or, without one, by name."""

    def __init__(self, guess: bool) -> None:
        def waiting() -> _Waiting:
            return _Waiting(guess)

        self._by_id: defaultdict[str, _Waiting] = defaultdict(waiting)
        self._by_name: defaultdict[str | None, _Waiting] = defaultdict(waiting)
        self._without_id = waiting()

    def add(self, call: _Call, user_turns: int) -> None:
        if call.declared_id is not None:
            self._by_id[call.declared_id].add(call, user_turns)
        else:
            self._without_id.add(call, user_turns)
            self._by_name[call.name].add(call, user_turns)

    def find(self, id: str | None, name: str | None, user_turns: int) -> _Call | None:
        if id is not None:
            return self._by_id[id].best(user_turns) if id in self._by_id else None
        if name is None:
            return self._without_id.first_recent(user_turns)
        fitting = [self._by_name[key].first_recent(user_turns) for key in (name, None)]
        return min((call for call in fitting if call is not None), key=_order, default=None)


def _order(call: _Call) -> int:
    return call.order


class _Ledger:
    """Which declared call each result belongs to; linear, whatever the order."""

    def __init__(self) -> None:
        self._open = _Tier(guess=False)
        self._guessed = _Tier(guess=True)
        self._turns = [_Turn()]  # those that make calls; the last is the nearest
        self._user_turns = 0
        self._waited = 0

    def begin_user_turn(self) -> None:
        self._user_turns += 1

    def declare(self, calls: list[tuple[str | None, str, str | None]]) -> None:
        """Enter the calls of one turn: the id each was declared under, its id now, its name."""
        if not calls:
            return
        turn = _Turn()
        for position, (declared_id, id, name) in enumerate(calls):
            call = _Call(declared_id, id, name)
            call.turn, call.position = len(self._turns), position
            turn.calls.append(call)
            turn.open.add(position)
            self._wait(self._open, call)
        self._turns.append(turn)

    def answer(self, row: _Row) -> _Call | None:
        """The call that a result belongs to: an open one, or one that has only a placeholder."""
        name = _plain_text(lookup(row.fields, "name"))
        call = self._open.find(row.id, name, self._user_turns)
        if call is None and row.id is None:
            call = self._turns[-1].only_open()
        if call is None and not row.guess:
            call = self._guessed.find(row.id, name, self._user_turns)
            if call is None and row.id is None:
                call = self._turns[-1].only_guessed()
        if call is not None:
            self._settle(call, row.guess)
        return call

    def _settle(self, call: _Call, guess: bool) -> None:
        turn = self._turns[call.turn]
        (turn.guessed if call.answered else turn.open).remove(call.position)
        call.answered = True
        call.guess = guess
        if guess:
            turn.guessed.add(call.position)
            self._wait(self._guessed, call)

    def _wait(self, tier: _Tier, call: _Call) -> None:
        self._waited += 1
        call.order = self._waited
        tier.add(call, self._user_turns)
