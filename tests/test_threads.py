"""Threads normalize lists that other threads change: a snapshot is normalized, and nothing breaks.

What one thread may see while another writes is defined: rows are those of one moment, each row's
keys are those of one moment, and what comes out is as well-formed as ever.
"""

import os
import random
import sys
import threading
import time

import pytest
from checks import assert_sendable
from rows import result, system, turn, user

SECONDS = float(os.environ.get("STRESS_SECONDS", "0.25"))
VERBS = ["normalize_conversation", "repair_tool_pairing", "explain_conversation"]


@pytest.fixture(autouse=True)
def quick_switches():
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def while_others_write(write, read, writers=2, readers=2):
    """Run both in threads until the time is over, or until one fails; return how often read ran."""
    stop = time.monotonic() + SECONDS
    failures = []
    reads = []

    def work(function, seed, counts):
        rng = random.Random(seed)
        try:
            while time.monotonic() < stop and not failures:
                function(rng)
                counts.append(seed)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(write, n, [])) for n in range(writers)]
    threads += [threading.Thread(target=work, args=(read, n, reads)) for n in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]
    assert len(reads) > 10
    return len(reads)


def histories():
    """Conversations that share nothing, so that a mixture of two is none of them."""
    return [
        [
            system(f"history {n}"),
            user(f"ask {n}"),
            turn(f"a{n}", f"b{n}"),
            result(f"b{n}", f"second of {n}"),
            result(f"a{n}", f"first of {n}"),
            *(user(f"line {line} of {n}") for line in range(n)),
        ]
        for n in range(8)
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_a_list_that_is_replaced_is_read_as_of_one_moment(backend, verb):
    function = getattr(backend, verb)
    known = histories()
    answers = [function(history) for history in known]
    shared = list(known[0])

    def write(rng):
        shared[:] = known[rng.randrange(len(known))]

    def read(_rng):
        assert function(shared) in answers

    while_others_write(write, read)


@pytest.mark.parametrize("verb", VERBS)
def test_a_list_that_grows_and_shrinks(backend, verb):
    function = getattr(backend, verb)
    spare = [row for history in histories() for row in history]
    shared = list(spare)

    def write(rng):
        for _ in range(20):
            choice = rng.randrange(5)
            if choice == 0:
                shared.append(rng.choice(spare))
            elif choice == 1 and shared:
                try:
                    shared.pop(rng.randrange(len(shared)))
                except (IndexError, ValueError):  # the other writer was quicker
                    shared.extend(spare[:2])
            elif choice == 2:
                shared.insert(0, rng.choice(spare))
            elif choice == 3:
                shared.reverse()
            else:
                shared.clear()
                shared.extend(spare[:40])

    def read(_rng):
        answer = function(shared)
        assert all(type(row) is dict for row in answer.messages)
        if verb != "repair_tool_pairing":
            assert_sendable(answer.messages)

    while_others_write(write, read)


def test_rows_that_change_under_the_pass(backend):
    shared = [row for history in histories() for row in history]
    odd = [None, "text", 5, [1, 2], {"a": 1}, "\udce9", ["x" * 50]]

    def write(rng):
        for _ in range(20):
            row = rng.choice(shared)
            choice = rng.randrange(6)
            if choice == 0:
                row["content"] = rng.choice(odd)
            elif choice == 1:
                row.pop("content", None)
            elif choice == 2:
                row["tool_call_id"] = f"a{rng.randrange(8)}"
            elif choice == 3:
                row["tool_calls"] = [{"id": f"a{rng.randrange(8)}"}, {"id": None}]
            elif choice == 4:
                row.clear()
                row.update(role=rng.choice(["user", "tool", "assistant", "system"]))
            else:
                row["metadata"] = {"tool_calls": [{"id": f"b{rng.randrange(8)}"}]}

    def read(_rng):
        assert_sendable(backend.normalize_conversation(shared).messages)

    while_others_write(write, read)


def test_calls_and_metadata_that_change_under_the_pass(backend):
    calls = [{"id": f"c{n}", "name": "f"} for n in range(6)]
    metadata = {"tool_calls": calls, "tool_call_id": "c1", "healed": True}
    shared = [
        {"role": "assistant", "content": "x", "metadata": metadata},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "y", "metadata": metadata},
        {"role": "tool", "content": "z", "tool_call_id": "c3"},
    ]

    def write(rng):
        for _ in range(20):
            choice = rng.randrange(5)
            if choice == 0:
                calls[:] = [{"id": f"c{n}"} for n in range(rng.randrange(9))]
            elif choice == 1:
                for call in list(calls):
                    call["id"] = rng.choice(["c1", " c2 ", 3, None, ""])
            elif choice == 2:
                metadata.pop("tool_call_id", None)
                metadata["tool_call_id"] = rng.choice(["c2", 7, None])
            elif choice == 3:
                metadata["healed"] = rng.random() < 0.5
            else:
                metadata.clear()
                metadata["tool_calls"] = calls

    def read(_rng):
        for row in backend.normalize_conversation(shared).messages:
            assert set(row) <= {"role", "content", "tool_calls", "tool_call_id"}
            assert type(row["content"]) is str

    while_others_write(write, read)


def test_many_threads_share_nothing_but_the_functions(backend):
    known = histories()
    answers = [backend.normalize_conversation(history) for history in known]

    def read(rng):
        n = rng.randrange(len(known))
        assert backend.normalize_conversation(known[n]) == answers[n]
        assert backend.coerce_content({"n": [n]}) == f'{{"n":[{n}]}}'
        row = {"role": "tool", "content": str(n), "tool_call_id": f"c{n}"}
        assert backend.text_to_message(n, "tool", f" c{n} ") == ([row], row)

    while_others_write(lambda _rng: None, read, writers=0, readers=8)
