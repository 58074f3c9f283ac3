"""Short ways to write a conversation down."""

INTERRUPTED = "Tool call was interrupted; no result."

DROPS = {
    "not_a_message",
    "no_role",
    "unusable_call",
    "duplicate_call",
    "emptied_turn",
    "orphan_result",
    "early_result",
    "duplicate_result",
}
CALL_DROPS = {"unusable_call", "duplicate_call"}


def user(content="hi", **more):
    return {"role": "user", "content": content, **more}


def system(content="be brief", **more):
    return {"role": "system", "content": content, **more}


def turn(*calls, content="", **more):
    """An assistant turn; a call that is given as its id alone is made into one."""
    calls = [{"id": call, "name": "search"} if type(call) is str else call for call in calls]
    return {"role": "assistant", "content": content, "tool_calls": calls, **more}


def result(id, content="ok", **more):
    return {"role": "tool", "content": content, "tool_call_id": id, **more}


def interrupted(id):
    return result(id, INTERRUPTED)


def messages_of(backend, *entries):
    return backend.normalize_conversation(list(entries)).messages


def content_of(backend, value):
    """What content becomes, the same on each way in."""
    (row,) = messages_of(backend, user(value))
    text = row["content"]
    assert backend.coerce_content(value) == text
    assert type(text) is str
    made = backend.text_to_message(value).messages
    assert made == ([user(text)] if text else [])
    return text


def kinds_of(backend, *entries):
    return [record.kind for record in backend.explain_conversation(list(entries)).records]


def notes_of(backend, *entries):
    """Kind, index and id of each record, in order."""
    records = backend.explain_conversation(list(entries)).records
    return [(record.kind, record.index, record.id) for record in records]


def drops_of(backend, *entries):
    return [note for note in notes_of(backend, *entries) if note[0] in DROPS]
