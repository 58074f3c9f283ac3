"""`ids="rescue"` once more, quadratic and word by word, for conversations as JSON holds them.

It gives ids, and leaves the rest to `oracle`. It shares no code with the package.
"""

import json

from oracle import SYNTHETIC, call_id, calls, mapping, text, usable


def rescued(history, interrupted=SYNTHETIC):
    """Return the history with ids of its own, and the notes `(kind, index, id)` of the new."""
    history = json.loads(json.dumps(history))  # no row may be there twice: they are changed
    occurring = set(ids_of(history))
    declared = []
    users = 0
    waited = 0
    notes = []
    for index, entry in enumerate(history):
        role = entry.get("role") if isinstance(entry, dict) else None
        if role == "user":
            users += 1
        elif role == "assistant":
            where = entry if calls(entry.get("tool_calls")) else mapping(entry.get("metadata"))
            found = calls(where.get("tool_calls"))
            for place, call in enumerate(found):
                if not isinstance(call, dict):
                    continue
                id = new = call_id(call)
                taken = occurring | {other["id"] for other in declared}
                if id is None:
                    new = fresh("call_", 1, taken)
                elif any(other["id"] == id for other in declared):
                    new = fresh(f"{id}~", 2, taken)
                if new != id:
                    notes.append(("reidentified_call", index, new))
                    found[place] = renamed(call, id, new)
                waited += 1
                declared.append(
                    {
                        "declared": id,
                        "id": new,
                        "name": call_name(call),
                        "turn": index,
                        "state": "open",
                        "users": users,
                        "since": waited,
                    }
                )
            if found:
                where["tool_calls"] = found
                if where is not entry:
                    entry["metadata"] = where
        elif role == "tool":
            id, guess = result_id(entry), is_placeholder(entry, interrupted)
            found = belongs_to(id, entry.get("name"), declared, users, "open")
            if found is None and not guess:
                found = belongs_to(id, entry.get("name"), declared, users, "guessed")
            if found is None:
                continue
            waited += 1
            found["state"] = "guessed" if guess else "answered"
            found["users"], found["since"] = users, waited
            if found["id"] != id:
                notes.append(("reidentified_result", index, found["id"]))
                entry["tool_call_id"] = found["id"]
    return history, notes


def belongs_to(id, name, declared, users, state):
    """The call that a result belongs to, of those in one state."""
    waiting = sorted((c for c in declared if c["state"] == state), key=lambda c: c["since"])
    if id is not None:
        mine = [call for call in waiting if call["declared"] == id]
        recent = [call for call in mine if call["users"] == users]
        return recent[0] if recent else mine[-1] if mine else None
    name = name if isinstance(name, str) else None
    for call in waiting:
        named = name is None or call["name"] is None or name == call["name"]
        if call["declared"] is None and call["users"] == users and named:
            return call
    nearest = [call for call in waiting if call["turn"] == declared[-1]["turn"]]
    return nearest[0] if len(nearest) == 1 else None


def fresh(stem, number, taken):
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"


def renamed(call, id, new):
    keys = [key for key in ("tool_call_id", "id") if key in call]
    if id is not None:
        keys = [key for key in keys if usable(call[key]) == id]
    elif not keys:
        keys = ["id" if "function" in call else "tool_call_id"]
    return {**call, **dict.fromkeys(keys if id is not None else keys[:1], new)}


def call_name(call):
    name = call.get("name")
    if name is None:
        function = call.get("function")
        name = function.get("name") if isinstance(function, dict) else function
    return name if isinstance(name, str) else None


def result_id(entry):
    own = usable(entry.get("tool_call_id"))
    return own or usable(mapping(entry.get("metadata")).get("tool_call_id"))


def is_placeholder(entry, interrupted):
    healed = entry.get("healed") is True or mapping(entry.get("metadata")).get("healed") is True
    return healed or text(entry.get("content")) in (SYNTHETIC, interrupted)


def ids_of(history):
    for entry in history:
        role = entry.get("role") if isinstance(entry, dict) else None
        if role == "assistant":
            found = calls(entry.get("tool_calls"))
            found = found or calls(mapping(entry.get("metadata")).get("tool_calls"))
            yield from filter(None, map(call_id, found))
        elif role == "tool" and result_id(entry):
            yield result_id(entry)
