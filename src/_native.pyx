"""The compiled backend: the functions of `flowdrop_fast/_pure.py`, in its order, tuned.

Exact dicts, lists and strs are handled here; whatever is anything else goes to `_reading`,
`_content` and `_rewriting`, which both backends share, so that it cannot differ.

Three things make this safe, and mostly fast. Values are read in one walk over a dict, during
which nothing of the caller's can run, and are owned from then on. A row that may be flat already
is copied first and read from the copy, which nobody else can reach. What the pass builds up lies
in C arrays that belong to a `Pairing`, which releases them however the pass ends.
"""

cimport cython
from cpython.dict cimport PyDict_Copy
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_GetSlice, PyList_New
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_CLEAR, Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.string cimport memcmp, memset

# Result types, which are not looked up by name at each call then.
cdef object Explanation, Normalized, TextMessage

from flowdrop_fast._content import (
    INTERRUPTED_TEXT,
    coerce_odd_content,
    is_interrupted,
    mend_surrogates,
)
from flowdrop_fast._reading import (
    lookup,
    needs_cleaning,
    read_call,
    read_calls,
    read_mapping,
    read_metadata,
    read_role,
    read_sendable_role,
    snapshot,
    trimmed_id,
    usable_id,
)
from flowdrop_fast._results import (
    DUPLICATE_CALL,
    DUPLICATE_RESULT,
    EARLY_RESULT,
    EMPTIED_TURN,
    INTERRUPTED_RESULT,
    MOVED_SYSTEM,
    NO_ROLE,
    NOT_A_MESSAGE,
    ORPHAN_RESULT,
    UNUSABLE_CALL,
    Explanation,
    Normalized,
    TextMessage,
    make_records,
    moved_results,
)
from flowdrop_fast._rewriting import with_calls, with_id
from flowdrop_fast import _pure
from flowdrop_fast._options import DEFAULTS

cdef extern from "Python.h":
    """
    /* Until 3.12 the collector can run inside PyDict_Copy and leave half a dict. */
    #define COPIES_ARE_WHOLE (PY_VERSION_HEX >= 0x030C0000)
    /* Until then it can also run inside a slice, before what it copies is owned. Without the GIL,
       another thread can change a list while it is sliced. */
    #ifdef Py_GIL_DISABLED
    #define SLICES_ARE_WHOLE 0
    #else
    #define SLICES_ARE_WHOLE COPIES_ARE_WHOLE
    #endif
    #define TEXT_LENGTH(o) PyUnicode_GET_LENGTH(o)
    #define TEXT_KIND(o) ((int)PyUnicode_KIND(o))
    #define TEXT_DATA(o) PyUnicode_DATA(o)
    #define TEXT_IS_ASCII(o) PyUnicode_IS_COMPACT_ASCII(o)
    #define new_tuple(kind, n) PyType_GenericAlloc((PyTypeObject*)(kind), n)
    """
    bint COPIES_ARE_WHOLE
    bint SLICES_ARE_WHOLE
    Py_ssize_t TEXT_LENGTH(PyObject*)
    int TEXT_KIND(PyObject*)
    const void* TEXT_DATA(PyObject*)
    bint TEXT_IS_ASCII(PyObject*)
    bint is_text "PyUnicode_CheckExact"(PyObject*)
    bint is_dict "PyDict_CheckExact"(PyObject*)
    bint is_list "PyList_CheckExact"(PyObject*)
    void set_item "PyList_SET_ITEM"(object, Py_ssize_t, PyObject*)
    Py_ssize_t PyDict_GET_SIZE(PyObject*)
    bint next_item "PyDict_Next"(PyObject*, Py_ssize_t*, PyObject**, PyObject**)
    PyObject* copy_dict "PyDict_Copy"(PyObject*) except NULL
    int set_key "PyDict_SetItem"(PyObject*, PyObject*, PyObject*) except -1
    object new_tuple(object, Py_ssize_t)


# The very objects that stand for "nothing is asked for": other options take the reference's path.
cdef object STRICT = DEFAULTS[0]
cdef object INTERRUPT = DEFAULTS[1]
cdef object INTERRUPTED = DEFAULTS[2]
cdef object KEEP = DEFAULTS[3]
cdef object NOTHING = DEFAULTS[4]
cdef object TEXT = DEFAULTS[5]


cdef inline bint _is_plain(ids, pending, interrupted, system, keep, content):
    return (
        ids is STRICT
        and pending is INTERRUPT
        and interrupted is INTERRUPTED
        and system is KEEP
        and keep is NOTHING
        and content is TEXT
    )


def normalize_conversation(
    messages,
    *,
    ids=STRICT,
    pending=INTERRUPT,
    interrupted=INTERRUPTED,
    system=KEEP,
    keep=NOTHING,
    content=TEXT,
    copy=True,
):
    cdef list drops = []
    if not _is_plain(ids, pending, interrupted, system, keep, content) or type(copy) is not bool:
        return _pure.normalize_conversation(
            messages,
            ids=ids,
            pending=pending,
            interrupted=interrupted,
            system=system,
            keep=keep,
            content=content,
            copy=copy,
        )
    rows = run_pass(messages, True, copy is False, drops, None)
    return _named(Normalized, rows, len(drops))


def repair_tool_pairing(messages, *, ids=STRICT, pending=INTERRUPT, interrupted=INTERRUPTED):
    cdef list drops = []
    if not _is_plain(ids, pending, interrupted, KEEP, NOTHING, TEXT):
        return _pure.repair_tool_pairing(
            messages, ids=ids, pending=pending, interrupted=interrupted
        )
    rows = run_pass(messages, False, False, drops, None)
    return _named(Normalized, rows, len(drops))


def explain_conversation(
    messages,
    *,
    ids=STRICT,
    pending=INTERRUPT,
    interrupted=INTERRUPTED,
    system=KEEP,
    keep=NOTHING,
    content=TEXT,
    copy=True,
):
    cdef list drops = [], changes = []
    if not _is_plain(ids, pending, interrupted, system, keep, content) or copy is not True:
        return _pure.explain_conversation(
            messages,
            ids=ids,
            pending=pending,
            interrupted=interrupted,
            system=system,
            keep=keep,
            content=content,
            copy=copy,
        )
    rows = run_pass(messages, True, False, drops, changes)
    return Explanation(rows, len(drops), make_records(drops, changes))


def coerce_content(value):
    return value if _is_sendable(<PyObject*>value) else _coerced(value)


def text_to_message(text, role=None, tool_call_id=None):
    cdef Role kind
    cdef str content = text if _is_sendable(<PyObject*>text) else _coerced(text)
    if not content:
        return _named(TextMessage, [], {})
    kind = _role_of(<PyObject*>role)
    if kind == UNREAD:
        role = "user" if role is None else read_sendable_role(role)
        kind = _role_of(<PyObject*>role)
    row = {"role": role, "content": content}
    if kind == TOOL:
        id = trimmed_id(tool_call_id)
        if id is not None:
            row["tool_call_id"] = id
    return _named(TextMessage, [row], PyDict_Copy(row))


def has_digits_in_a_row(bytes text, Py_ssize_t count):
    cdef const unsigned char* data = text
    cdef Py_ssize_t size = len(text)
    cdef Py_ssize_t at = count - 1
    cdef Py_ssize_t first, last
    if count < 1:
        raise ValueError("count must be 1 or more")
    while at < size:
        # A run that long covers one of the places looked at.
        if 48 <= data[at] <= 57:
            first = last = at
            while first > 0 and 48 <= data[first - 1] <= 57:
                first -= 1
            while last + 1 < size and 48 <= data[last + 1] <= 57:
                last += 1
            if last - first + 1 >= count:
                return True
            at = last
        at += count
    return False


for _function in (
    normalize_conversation,
    repair_tool_pairing,
    explain_conversation,
    coerce_content,
    text_to_message,
    has_digits_in_a_row,
):
    _function.__doc__ = getattr(_pure, _function.__name__).__doc__
del _function

cdef str NO_CONTENT = ""


# ---- Text -------------------------------------------------------------------------------------

cdef enum Role:
    UNREAD  # not exactly a str, or none of the names below
    TOOL
    ASSISTANT
    SYSTEM
    USER


cdef inline bint _spells(PyObject* text, const char* name, Py_ssize_t length) noexcept:
    return memcmp(TEXT_DATA(text), name, length) == 0


cdef inline Role _role_of(PyObject* role) noexcept:
    cdef Py_ssize_t length
    if role == NULL or not is_text(role) or not TEXT_IS_ASCII(role):
        return UNREAD
    length = TEXT_LENGTH(role)
    if length == 4:
        if _spells(role, "tool", 4):
            return TOOL
        if _spells(role, "user", 4):
            return USER
    elif length == 9:
        if _spells(role, "assistant", 9):
            return ASSISTANT
    elif length == 6:
        if _spells(role, "system", 6):
            return SYSTEM
    return UNREAD


cdef inline bint _is_sendable(PyObject* content) noexcept:
    """Whether content is exactly a str, without surrogates: it leaves as it is."""
    return (
        content != NULL
        and is_text(content)
        and (TEXT_IS_ASCII(content) or not _has_surrogates(content))
    )


cdef bint _has_surrogates(PyObject* text) noexcept:
    cdef Py_ssize_t i, length = TEXT_LENGTH(text)
    cdef const unsigned short* two
    cdef const unsigned int* four
    cdef unsigned short seen = 0  # as wide as what is read, so that compilers vectorize
    cdef unsigned int found = 0
    if TEXT_KIND(text) == 2:
        two = <const unsigned short*>TEXT_DATA(text)
        for i in range(length):
            seen |= two[i]
        if seen & 0xD800 == 0xD800:  # each bit of a surrogate is there: are they in one place?
            for i in range(length):
                found |= (two[i] & 0xF800) == 0xD800
    elif TEXT_KIND(text) == 4:
        four = <const unsigned int*>TEXT_DATA(text)
        for i in range(length):
            found |= (four[i] & 0xFFFFF800) == 0xD800
    return found != 0


cdef inline bint _is_true(PyObject* value) noexcept:
    return value != NULL and <object>value is True


cdef object _coerced(content):
    return mend_surrogates(content) if type(content) is str else coerce_odd_content(content)


cdef inline bint _same_text(PyObject* one, PyObject* other) noexcept:
    cdef Py_ssize_t length
    if one == other:
        return True
    length = TEXT_LENGTH(one)
    if length != TEXT_LENGTH(other) or TEXT_KIND(one) != TEXT_KIND(other):
        return False
    return memcmp(TEXT_DATA(one), TEXT_DATA(other), <size_t>(length * TEXT_KIND(one))) == 0


cdef inline bint _is_clean_id(PyObject* id) except -1:
    """Whether an id is exactly a str, usable as it stands."""
    cdef const unsigned char* characters
    cdef Py_ssize_t last
    if id == NULL or not is_text(id):
        return False
    last = TEXT_LENGTH(id) - 1
    if last > 0 and TEXT_IS_ASCII(id):
        characters = <const unsigned char*>TEXT_DATA(id)
        if characters[0] > 32 and characters[last] > 32:  # no blank is
            return True
    return usable_id(<object>id) == <object>id


cdef object _usable_id(PyObject* id):
    if id == NULL:
        return None
    return <object>id if _is_clean_id(id) else usable_id(<object>id)


# ---- Fields: what one walk over a dict reads ----------------------------------------------------

cdef enum:  # the keys that are read
    ROLE = 1
    CONTENT
    TOOL_CALLS
    TOOL_CALL_ID
    METADATA
    HEALED
    ID
    OTHER  # and the number of the keys above, with one that is never used

cdef enum:  # the keys of a flat row as they stand, a hexadecimal digit each
    PLAIN_ROW = 0x12
    TURN_ROW = 0x123
    RESULT_ROW = 0x124

cdef struct Fields:
    PyObject* keys[OTHER]  # the key objects that this list's dicts use, owned
    PyObject* values[OTHER]  # NULL where the dict has no such key
    bint owned  # whether `values` are
    unsigned long long order


cdef inline int _learn_key(Fields* fields, PyObject* key) noexcept:
    """Which key this object spells; the next dicts most likely use the same object."""
    cdef Py_ssize_t length = TEXT_LENGTH(key)
    cdef int spelled = OTHER
    if not TEXT_IS_ASCII(key):
        return OTHER
    if length == 4:
        if _spells(key, "role", 4):
            spelled = ROLE
    elif length == 7:
        if _spells(key, "content", 7):
            spelled = CONTENT
    elif length == 10:
        if _spells(key, "tool_calls", 10):
            spelled = TOOL_CALLS
    elif length == 12:
        if _spells(key, "tool_call_id", 12):
            spelled = TOOL_CALL_ID
    elif length == 8:
        if _spells(key, "metadata", 8):
            spelled = METADATA
    elif length == 6:
        if _spells(key, "healed", 6):
            spelled = HEALED
    elif length == 2:
        if _spells(key, "id", 2):
            spelled = ID
    if spelled != OTHER:
        Py_INCREF(<object>key)
        Py_XDECREF(fields.keys[spelled])  # a str: nothing of the caller's runs
        fields.keys[spelled] = key
    return spelled


cdef inline int _spelled(Fields* fields, PyObject* key) noexcept:
    """Which key this is: OTHER if none that is read, 0 if it is not exactly a str."""
    cdef PyObject** keys = fields.keys
    if key == keys[ROLE]:
        return ROLE
    if key == keys[CONTENT]:
        return CONTENT
    if key == keys[TOOL_CALL_ID]:
        return TOOL_CALL_ID
    if key == keys[TOOL_CALLS]:
        return TOOL_CALLS
    if key == keys[METADATA]:
        return METADATA
    if key == keys[ID]:
        return ID
    return _learn_key(fields, key) if is_text(key) else 0


cdef inline bint _walk(Fields* fields, PyObject* source, bint own) noexcept:
    """Read the wanted values of a dict; False where a key is not exactly a str."""
    cdef PyObject* key
    cdef PyObject* value
    cdef Py_ssize_t position = 0, left = PyDict_GET_SIZE(source)
    cdef unsigned long long order = 0
    cdef int spelled
    while left and next_item(source, &position, &key, &value):
        left -= 1
        spelled = _spelled(fields, key)
        if spelled == 0:
            return False
        order = order << 4 | <unsigned long long>spelled
        if spelled != OTHER:
            if own:
                Py_INCREF(<object>value)
            fields.values[spelled] = value
    fields.order = order
    return True


cdef inline void _release(Fields* fields) noexcept:
    cdef int key
    if fields.owned:
        fields.owned = False
        for key in range(ROLE, OTHER):
            Py_CLEAR(fields.values[key])
    else:
        memset(fields.values, 0, sizeof(fields.values))


cdef inline bint _read(Fields* fields, dict source) noexcept:
    """Walk a dict and own what was read there."""
    cdef bint plain
    _release(fields)
    fields.owned = True
    with cython.critical_section(source):
        plain = _walk(fields, <PyObject*>source, True)
    return plain


cdef inline bint _read_private(Fields* fields, PyObject* source) noexcept:
    """Walk a dict that only we can reach; the values live as long as it does."""
    _release(fields)
    return _walk(fields, source, False)


cdef void _forget(Fields* fields) noexcept:
    """Release the values and the learned keys."""
    cdef int key
    _release(fields)
    for key in range(ROLE, OTHER):
        Py_CLEAR(fields.keys[key])


cdef void _set(Fields* fields, int key, value) noexcept:
    cdef PyObject* left = fields.values[key]
    Py_INCREF(value)
    fields.values[key] = <PyObject*>value
    Py_XDECREF(left)


cdef inline object _get(Fields* fields, int key):
    return None if fields.values[key] == NULL else <object>fields.values[key]


# ---- Pairing: the rows that leave, and the calls by id ------------------------------------------

cdef struct Call:
    PyObject* id  # owned
    Py_hash_t hash
    Py_ssize_t place  # where in `rows` its result belongs
    Py_ssize_t turn  # the entry that makes the call
    Py_ssize_t placeholder  # the entry of the placeholder that answers it, or -1


@cython.final
@cython.freelist(4)
cdef class Pairing:
    cdef Fields entry
    cdef Fields metadata
    cdef Fields call
    cdef PyObject* copied  # owned; the row that is being read
    cdef PyObject** rows  # owned; NULL in the open place of a result, and behind the last row
    cdef Py_ssize_t size
    cdef Py_ssize_t room
    cdef Call* calls  # in the order of their declaration
    cdef Py_ssize_t declared
    cdef Py_ssize_t room_for_calls
    cdef Py_ssize_t likely  # calls: how much room to make at first
    cdef Py_ssize_t expected  # the call after the one that was answered last
    cdef Py_ssize_t* table  # open addressing by hash: position in `calls` plus one, or 0
    cdef size_t mask

    def __dealloc__(self):
        cdef Py_ssize_t i
        _forget(&self.entry)
        _forget(&self.metadata)
        _forget(&self.call)
        Py_CLEAR(self.copied)
        for i in range(self.size):
            Py_XDECREF(self.rows[i])
        for i in range(self.declared):
            Py_XDECREF(self.calls[i].id)
        PyMem_Free(self.rows)
        PyMem_Free(self.calls)
        PyMem_Free(self.table)

    cdef int make_room(self, Py_ssize_t more) except -1:
        """Make room for that many more rows."""
        cdef Py_ssize_t room = self.size + more
        cdef PyObject** rows
        if room > self.room:
            room += room >> 1
            rows = <PyObject**>PyMem_Realloc(self.rows, room * sizeof(PyObject*))
            if rows == NULL:
                raise MemoryError
            memset(&rows[self.room], 0, (room - self.room) * sizeof(PyObject*))
            self.rows = rows
            self.room = room
        return 0

    cdef inline PyObject* copy_of(self, PyObject* fields) except NULL:
        """A copy of a dict, which lives at least until the next one is made."""
        Py_CLEAR(self.copied)
        self.copied = copy_dict(fields)
        return self.copied

    cdef inline int append(self, PyObject* row) except -1:
        self.make_room(1)
        Py_INCREF(<object>row)
        self.rows[self.size] = row
        self.size += 1
        return 0

    cdef inline int open_places(self, Py_ssize_t count) except -1:
        self.make_room(count)
        self.size += count
        return 0

    cdef inline void put(self, Py_ssize_t place, PyObject* row) noexcept:
        cdef PyObject* left = self.rows[place]
        Py_INCREF(<object>row)
        self.rows[place] = row
        Py_XDECREF(left)

    cdef inline Py_ssize_t find(self, PyObject* id) except -2:
        """The position of the call of that id, or -1. Results mostly come in the order of calls."""
        cdef Py_ssize_t position = self.expected
        if position >= self.declared or not _same_text(id, self.calls[position].id):
            position = self.look_up(id)
        self.expected = position + 1
        return position

    cdef Py_ssize_t look_up(self, PyObject* id) except -2:
        if self.declared == 0:
            return -1
        return self.table[self.slot_of(id, hash(<object>id))] - 1

    cdef size_t slot_of(self, PyObject* id, Py_hash_t hashed) noexcept:
        """The slot of the table that holds the call of that id, or the free one for it."""
        cdef size_t perturb = <size_t>hashed
        cdef size_t slot = perturb & self.mask
        cdef Call* call
        while self.table[slot]:
            call = &self.calls[self.table[slot] - 1]
            if call.hash == hashed and _same_text(id, call.id):
                break
            perturb >>= 5
            slot = (slot * 5 + perturb + 1) & self.mask
        return slot

    cdef inline bint declare(self, str id, Py_ssize_t place, Py_ssize_t turn) except -1:
        """Take an id for a call; False if it was declared before."""
        cdef Py_hash_t hashed = hash(id)
        cdef Call* call
        cdef size_t slot
        if self.declared == self.room_for_calls:
            self.make_room_for_calls()
        slot = self.slot_of(<PyObject*>id, hashed)
        if self.table[slot]:
            return False
        call = &self.calls[self.declared]
        Py_INCREF(id)
        call.id = <PyObject*>id
        call.hash = hashed
        call.place = place
        call.turn = turn
        call.placeholder = -1
        self.declared += 1
        self.table[slot] = self.declared
        return True

    cdef int make_room_for_calls(self) except -1:
        """Make room for twice the calls, and a table with two slots for each."""
        cdef Py_ssize_t room = self.room_for_calls * 2 or 8
        while room < self.likely:
            room *= 2
        cdef Call* calls = <Call*>PyMem_Realloc(self.calls, room * sizeof(Call))
        cdef Py_ssize_t position
        cdef size_t slot
        if calls == NULL:
            raise MemoryError
        self.calls = calls
        self.room_for_calls = room
        PyMem_Free(self.table)
        self.table = <Py_ssize_t*>PyMem_Calloc(room * 2, sizeof(Py_ssize_t))
        if self.table == NULL:
            raise MemoryError
        self.mask = <size_t>(room * 2 - 1)
        for position in range(self.declared):
            slot = self.slot_of(self.calls[position].id, self.calls[position].hash)
            self.table[slot] = position + 1
        return 0

    cdef list take_rows(self, Py_ssize_t leading, list late_system):
        """All rows as a list, the late system rows behind the leading ones."""
        cdef Py_ssize_t late = 0 if late_system is None else PyList_GET_SIZE(late_system)
        cdef list out = PyList_New(self.size + late)
        cdef Py_ssize_t i
        for i in range(leading):
            set_item(out, i, self.rows[i])
        for i in range(late):
            Py_INCREF(late_system[i])
            set_item(out, leading + i, PyList_GET_ITEM(late_system, i))
        for i in range(leading, self.size):
            set_item(out, late + i, self.rows[i])
        self.size = 0  # the list owns them now
        return out


cdef list run_pass(messages, bint flat, bint share, list drops, list changes):
    """Rules 1 to 4; `share` hands on the rows that are flat already instead of copies."""
    cdef list entries = _copy_of(messages) if type(messages) is list else snapshot(messages)
    cdef Py_ssize_t index, place, position, i, kept, leading = 0, unanswered = 0
    cdef list calls = None, late_system = None, strays = None
    cdef dict went_to = None if changes is None else {}  # entry -> its place in the rows
    cdef Pairing pairing = Pairing.__new__(Pairing)
    cdef Fields* read = &pairing.entry
    cdef Call* declared
    cdef Role kind
    cdef bint copies = flat and not share and COPIES_ARE_WHOLE
    cdef bint copied, as_it_is, lifted, changed, replaced, guess, cleaned
    cdef PyObject* fields
    cdef PyObject* role
    cdef PyObject* content
    cdef PyObject* answered
    cdef PyObject* call
    cdef PyObject* leaving
    cdef PyObject* id
    cdef str call_id

    pairing.make_room(PyList_GET_SIZE(entries))
    pairing.likely = PyList_GET_SIZE(entries) >> 1
    for index in range(PyList_GET_SIZE(entries)):
        fields = PyList_GET_ITEM(entries, index)
        if not is_dict(fields):
            odd_entry = read_mapping(<object>fields)
            if odd_entry is None:
                drops.append((NOT_A_MESSAGE, index, None))
                continue
            fields = <PyObject*>odd_entry

        # A row that may leave as it is: copied first, and read from the copy.
        copied = copies and 2 <= PyDict_GET_SIZE(fields) <= 3
        if copied:
            fields = pairing.copy_of(fields)
            as_it_is = _read_private(read, fields)
        else:
            as_it_is = _read(read, <dict>fields)
        if not as_it_is:
            try:
                _look_up(read, <dict>fields)
            except Exception:  # a stored key's own __eq__ may raise
                drops.append((NOT_A_MESSAGE, index, None))
                continue
        as_it_is = as_it_is and (copied or share)

        role = read.values[ROLE]
        kind = _role_of(role)
        if kind == UNREAD:
            odd_role = read_role(_get(read, ROLE))
            if odd_role is None:
                drops.append((NO_ROLE, index, None))
                continue
            as_it_is = as_it_is and role == <PyObject*>odd_role
            role = <PyObject*>odd_role
            kind = _role_of(role)
        content = read.values[CONTENT]
        if content == NULL:
            content = <PyObject*>None
        if flat and content == <PyObject*>None:  # as providers have it on a turn that only calls
            content = <PyObject*>NO_CONTENT
            as_it_is = False
        elif flat and not _is_sendable(content):
            coerced = _coerced(<object>content)
            as_it_is = as_it_is and content == <PyObject*>coerced
            content = <PyObject*>coerced

        if kind == TOOL:
            answered = read.values[TOOL_CALL_ID]
            guess = _is_true(read.values[HEALED])
            metadata = None
            if read.values[METADATA] != NULL:
                metadata = _read_metadata(pairing)
                guess = guess or _is_true(pairing.metadata.values[HEALED])
            lifted = False
            if _is_clean_id(answered):
                id = answered
            else:
                as_it_is = False
                odd_id = _usable_id(answered)
                if odd_id is None and metadata is not None:
                    lifted = True
                    answered = pairing.metadata.values[TOOL_CALL_ID]
                    odd_id = _usable_id(answered)
                if odd_id is None:
                    drops.append((ORPHAN_RESULT, index, None))
                    continue
                id = <PyObject*>odd_id
            guess = guess or _is_interrupted(content)
            position = pairing.find(id)
            if position < 0:
                if strays is None:
                    strays = []
                strays.append((index, <object>id))
                continue
            declared = &pairing.calls[position]
            if pairing.rows[declared.place] == NULL:
                unanswered -= 1
            elif declared.placeholder >= 0 and not guess:
                drops.append((DUPLICATE_RESULT, declared.placeholder, <object>id))
                if changes is not None:
                    went_to.pop(declared.placeholder, None)
                declared.placeholder = -1
            else:
                drops.append((DUPLICATE_RESULT, index, <object>id))
                continue
            if guess:
                declared.placeholder = index
            if changes is not None:
                went_to[index] = declared.place
            if not flat:
                if needs_cleaning(<object>answered, <object>id):
                    row = with_id(<object>fields, metadata if lifted else None, <object>id)
                    pairing.put(declared.place, <PyObject*>row)
                else:
                    pairing.put(declared.place, PyList_GET_ITEM(entries, index))
            elif as_it_is and read.order == RESULT_ROW:
                pairing.put(declared.place, fields)
            else:
                row = {
                    "role": <object>role, "content": <object>content, "tool_call_id": <object>id
                }
                pairing.put(declared.place, <PyObject*>row)
            continue

        kept = 0
        changed = False
        replaced = False
        if kind == ASSISTANT and (
            read.values[TOOL_CALLS] != NULL or read.values[METADATA] != NULL
        ):
            calls = _read_calls(read)
            lifted = not calls
            if lifted and read.values[METADATA] != NULL:
                metadata = _read_metadata(pairing)
                calls = _read_calls(&pairing.metadata)
            place = pairing.size + 1
            pairing.expected = pairing.declared
            for i in range(0 if calls is None else PyList_GET_SIZE(calls)):
                call = PyList_GET_ITEM(calls, i)
                call_id = _call_id(&pairing.call, call)
                if call_id is None:
                    usable = read_call(<object>call)
                    if usable is None:
                        drops.append((UNUSABLE_CALL, index, None))
                        continue
                    call_id, clean_call, cleaned = usable
                    changed = changed or cleaned
                    if flat or cleaned:
                        replaced = replaced or call != <PyObject*>clean_call
                        call = <PyObject*>clean_call
                if not pairing.declare(call_id, place + kept, index):
                    drops.append((DUPLICATE_CALL, index, call_id))
                    continue
                if call != PyList_GET_ITEM(calls, kept):
                    calls[kept] = <object>call
                kept += 1
            if calls is not None and kept < PyList_GET_SIZE(calls):
                changed = True
                del calls[kept:]
                if kept == 0 and not (
                    <object>content if flat else coerce_content(<object>content)
                ):
                    drops.append((EMPTIED_TURN, index, None))
                    continue

        if not flat:
            row = <object>PyList_GET_ITEM(entries, index)
            if changed:
                if not lifted:
                    metadata = _read_metadata(pairing)
                row = with_calls(<object>fields, metadata, calls, lifted)
            leaving = <PyObject*>row
        elif kept:
            leaving = fields
            if as_it_is and copied and read.order == TURN_ROW:
                set_key(leaving, read.keys[TOOL_CALLS], <PyObject*>calls)
            elif not (
                as_it_is
                and read.order == TURN_ROW
                and not (changed or replaced)
                and is_list(read.values[TOOL_CALLS])
            ):
                row = {"role": <object>role, "content": <object>content, "tool_calls": calls}
                leaving = <PyObject*>row
        elif as_it_is and read.order == PLAIN_ROW:
            leaving = fields
        else:
            row = {"role": <object>role, "content": <object>content}
            leaving = <PyObject*>row
        if kind == SYSTEM and flat:
            if leading < pairing.size:
                if late_system is None:
                    late_system = []
                late_system.append(<object>leaving)
                if changes is not None:
                    changes.append((MOVED_SYSTEM, index, None))
                continue
            leading += 1
        if changes is not None:
            went_to[index] = pairing.size
        pairing.append(leaving)
        if kept:
            pairing.open_places(kept)
            unanswered += kept

    if changes is not None:
        places = {}
        for position in range(pairing.declared):
            places[<str>pairing.calls[position].id] = pairing.calls[position].place
        changes.extend(moved_results(went_to, places))
    for index, stray_id in strays or ():
        position = pairing.look_up(<PyObject*>stray_id)
        drops.append((EARLY_RESULT if position >= 0 else ORPHAN_RESULT, index, stray_id))
    if unanswered:
        for position in range(pairing.declared):
            declared = &pairing.calls[position]
            if pairing.rows[declared.place] == NULL:
                call_id = <str>declared.id
                row = {"role": "tool", "content": INTERRUPTED_TEXT, "tool_call_id": call_id}
                pairing.put(declared.place, <PyObject*>row)
                if changes is not None:
                    changes.append((INTERRUPTED_RESULT, declared.turn, call_id))
    return pairing.take_rows(leading, late_system)


cdef int _look_up(Fields* read, dict fields) except -1:
    """Read a dict that has keys of odd types, as the reference does."""
    get = fields.get
    _release(read)
    read.owned = True
    role = get("role")
    _set(read, ROLE, role)
    _set(read, CONTENT, get("content"))
    odd = type(role) is not str
    if odd or role == "tool":
        _set(read, TOOL_CALL_ID, get("tool_call_id"))
        _set(read, HEALED, get("healed"))
        _set(read, METADATA, get("metadata"))
    if odd or role == "assistant":
        _set(read, TOOL_CALLS, get("tool_calls"))
        _set(read, METADATA, get("metadata"))
    return 0


cdef object _read_metadata(Pairing pairing):
    """Read an entry's metadata into the pairing's fields; return it, if there is any."""
    cdef Fields* read = &pairing.metadata
    metadata = _get(&pairing.entry, METADATA)
    _release(read)
    if type(metadata) is not dict:
        metadata = read_metadata(metadata)
        if metadata is None:
            return None
    if not _read(read, metadata):
        _release(read)
        read.owned = True
        _set(read, TOOL_CALLS, lookup(metadata, "tool_calls"))
        _set(read, TOOL_CALL_ID, lookup(metadata, "tool_call_id"))
        _set(read, HEALED, lookup(metadata, "healed"))
    return metadata


cdef list _read_calls(Fields* read):
    """The calls that were read, as a list of our own, or None."""
    if read.values[TOOL_CALLS] == NULL:
        return None
    calls = <object>read.values[TOOL_CALLS]
    return _copy_of(calls) if type(calls) is list else read_calls(calls)


cdef inline list _copy_of(list values):
    return PyList_GetSlice(values, 0, PyList_GET_SIZE(values)) if SLICES_ARE_WHOLE else list(values)


cdef inline str _call_id(Fields* read, PyObject* call):
    """The id of a call that may leave as it is, or None."""
    cdef PyObject* key
    cdef PyObject* value
    cdef PyObject* found = NULL
    cdef Py_ssize_t position = 0
    cdef int spelled
    cdef str id = None
    if is_dict(call):
        with cython.critical_section(<object>call):
            while next_item(call, &position, &key, &value):
                spelled = _spelled(read, key)
                if spelled == TOOL_CALL_ID:
                    found = value
                    break
                if spelled == ID:
                    found = value
                elif spelled == 0:
                    found = NULL
                    break
            if _is_clean_id(found):
                id = <str>found
    return id


cdef inline bint _is_interrupted(PyObject* content) except -1:
    """Whether content, coerced, is the text of a synthetic result."""
    if is_text(content):  # mended text has characters that the synthetic one has not
        return _same_text(content, <PyObject*>INTERRUPTED)
    return is_interrupted(<object>content)


cdef object _named(kind, first, second):
    """A named tuple of two, made without a call of its Python constructor."""
    cdef object made = new_tuple(kind, 2)
    Py_INCREF(first)
    PyTuple_SET_ITEM(made, 0, first)
    Py_INCREF(second)
    PyTuple_SET_ITEM(made, 1, second)
    return made
