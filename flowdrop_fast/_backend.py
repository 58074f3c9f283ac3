"""The import switch: which backend this process runs on.

``FLOWDROP_FAST_BACKEND`` is ``auto`` (the default), ``native`` or ``pure``. Here lives the choice
alone; the work is done by ``_pure`` and ``_native``, and both can always be imported by name.
"""

import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING

_CHOICES = ("auto", "native", "pure")
_NATIVE = "flowdrop_fast._native"

# What Cython and CPython say where another interpreter of this process has the extension.
_IN_ANOTHER_INTERPRETER = (
    "Interpreter change detected",
    "does not support loading in subinterpreters",
)


def _load_native(choice: str) -> ModuleType | None:
    """Return the compiled backend, or None where it is absent. One that is broken raises.

    It loads in one interpreter of a process only; `auto` takes that for absence in the others.
    """
    try:
        return importlib.import_module(_NATIVE)
    except ModuleNotFoundError as error:
        if error.name != _NATIVE:
            raise  # the extension is there, and something that it imports is not
        return None
    except ImportError as error:
        if choice == "auto" and any(said in str(error) for said in _IN_ANOTHER_INTERPRETER):
            return None
        raise


def _choose() -> tuple[ModuleType, str]:
    choice = os.environ.get("FLOWDROP_FAST_BACKEND") or "auto"
    if choice not in _CHOICES:
        raise ValueError(
            f"FLOWDROP_FAST_BACKEND={choice!r} is unknown; it is one of: {', '.join(_CHOICES)}"
        )
    if choice != "pure":
        native = _load_native(choice)
        if native is not None:
            return native, "native"
        if choice == "native":
            raise ImportError(
                "FLOWDROP_FAST_BACKEND=native, but this installation has no compiled extension "
                f"({_NATIVE}); install a platform wheel, or build with FLOWDROP_FAST_BUILD=require",
                name=_NATIVE,
            )
    return importlib.import_module("flowdrop_fast._pure"), "pure"


if TYPE_CHECKING:
    from flowdrop_fast import _pure

    BACKEND: str
    backend = _pure  # both have the same functions: the reference's types serve for both
else:
    backend, BACKEND = _choose()
