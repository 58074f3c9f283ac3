"""MEM-5 once more, phase by phase and quadratic, for conversations as JSON holds them.

Written from the specification alone and sharing no code with the package, so that a misreading
which both backends share shows as a difference from this.
"""

import json
import re

SYNTHETIC = "Tool call was interrupted; no result."


def oracle(history):
    """Return the messages, and the notes `(kind, index, id)` of all that was dropped or changed."""
    notes = []
    rows = coerced(history, notes)
    ordered = [row for row in rows if row["role"] == "system"]
    ordered += [row for row in rows if row["role"] != "system"]
    ordered = declare(ordered, notes)
    answers = pair(ordered, notes)
    placed = placed_rows(ordered, answers)
    note_changes(placed, notes)
    order = {"unusable_call": 0, "duplicate_call": 0, "emptied_turn": 1}
    notes.sort(key=lambda note: (note[1], order.get(note[0], 2)))
    return [flat(row) for row in placed], notes


# ---- Rule 1 -----------------------------------------------------------------------------------


def coerced(history, notes):
    rows = []
    for index, entry in enumerate(history):
        if not isinstance(entry, dict):
            notes.append(("not_a_message", index, None))
            continue
        role = entry.get("role")
        if not isinstance(role, str) or role.strip() == "":
            notes.append(("no_role", index, None))
            continue
        metadata = mapping(entry.get("metadata"))
        row = {"index": index, "role": role, "content": text(entry.get("content")), "calls": []}
        if role == "assistant":
            row["calls"] = calls(entry.get("tool_calls")) or calls(metadata.get("tool_calls"))
        if role == "tool":
            ids = [usable(entry.get("tool_call_id")), usable(metadata.get("tool_call_id"))]
            row["id"] = ids[0] or ids[1]
            row["placeholder"] = (
                entry.get("healed") is True
                or metadata.get("healed") is True
                or row["content"] == SYNTHETIC
            )
        rows.append(row)
    return rows


def text(content):
    if content is None:
        return ""
    if isinstance(content, str):
        return mended(content)
    if content in (float("inf"), float("-inf")) or content != content:
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(content)]
    return mended(json.dumps(finite(content), ensure_ascii=False, separators=(",", ":")))


def finite(value):
    if isinstance(value, float) and value - value != 0:
        return None
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return value


def mended(text):
    def character(pair):
        high, low = map(ord, pair.group())
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))

    joined = re.sub("[\ud800-\udbff][\udc00-\udfff]", character, text)
    return re.sub("[\ud800-\udfff]", "\ufffd", joined)


def parsed(text):
    try:
        return True, json.loads(text)
    except ValueError:
        return False, None


def mapping(metadata):
    if isinstance(metadata, str):
        _, metadata = parsed(metadata)
    return metadata if isinstance(metadata, dict) else {}


def calls(value):
    if isinstance(value, str):
        if value.strip() == "":
            return []
        is_json, said = parsed(value)
        return calls(said) if is_json else [value]
    if isinstance(value, list):
        return value
    if value is None or value is False or value == {} or (value == 0 and value is not True):
        return []
    if isinstance(value, dict):
        return [value] if call_id(value) else list(value.values())
    return [value]


def usable(id):
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str) or id.strip() in ("", "0"):
        return None
    return id.strip()


def call_id(call):
    if not isinstance(call, dict):
        return None
    return usable(call.get("tool_call_id")) or usable(call.get("id"))


def clean(call):
    key = "tool_call_id" if usable(call.get("tool_call_id")) else "id"
    return {**call, key: call_id(call)}


# ---- Rules 3 and 4 ----------------------------------------------------------------------------


def declare(ordered, notes):
    declared = []
    staying = []
    for row in ordered:
        kept = []
        for call in row["calls"]:
            id = call_id(call)
            if id is None:
                notes.append(("unusable_call", row["index"], None))
            elif id in declared:
                notes.append(("duplicate_call", row["index"], id))
            else:
                declared.append(id)
                kept.append(clean(call))
        if row["calls"] and not kept and row["content"] == "":
            notes.append(("emptied_turn", row["index"], None))
        else:
            staying.append({**row, "calls": kept})
    return staying


def pair(ordered, notes):
    answers = {}
    for place, row in enumerate(ordered):
        if row["role"] != "tool":
            continue
        id = row["id"]
        turns = [
            turn_place
            for turn_place, turn in enumerate(ordered)
            for call in turn["calls"]
            if call_id(call) == id
        ]
        if id is None or not turns:
            notes.append(("orphan_result", row["index"], id))
        elif turns[0] > place:
            notes.append(("early_result", row["index"], id))
        elif id not in answers:
            answers[id] = row
        elif answers[id]["placeholder"] and not row["placeholder"]:
            notes.append(("duplicate_result", answers[id]["index"], id))
            answers[id] = row
        else:
            notes.append(("duplicate_result", row["index"], id))
    return answers


def placed_rows(ordered, answers):
    placed = []
    for row in ordered:
        if row["role"] == "tool":
            continue
        placed.append(row)
        for call in row["calls"]:
            id = call_id(call)
            made = {"made_for": row["index"], "role": "tool", "content": SYNTHETIC, "id": id}
            placed.append(answers.get(id, made))
    return placed


def note_changes(placed, notes):
    """A row has moved when one that stood before it now stands behind it."""
    for place, row in enumerate(placed):
        if "made_for" in row:
            notes.append(("interrupted_result", row["made_for"], row["id"]))
        elif row["role"] == "system":
            if any(
                other["role"] != "system" and other.get("index", row["index"]) < row["index"]
                for other in placed
            ):
                notes.append(("moved_system", row["index"], None))
        elif row["role"] == "tool" and any(
            other.get("index", row["index"]) < row["index"] for other in placed[place + 1 :]
        ):
            notes.append(("moved_result", row["index"], row["id"]))


def flat(row):
    message = {"role": row["role"], "content": row["content"]}
    if row.get("calls"):
        message["tool_calls"] = row["calls"]
    if row["role"] == "tool":
        message["tool_call_id"] = row["id"]
    return message
