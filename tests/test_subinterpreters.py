"""Subinterpreters: the reference works in every one, the compiled backend in the first that loads.

Cython allows no more. The others fall back to the reference or, where the compiled backend is
asked for by name, get an error that says so; and nothing crashes.
"""

import subprocess
import sys
import sysconfig

import pytest

USE = """
import os
os.environ["FLOWDROP_FAST_BACKEND"] = {choice!r}
import flowdrop_fast
rows = [{{"role": "tool", "content": [1]}}, {{"role": "user", "content": None}}]
assert flowdrop_fast.BACKEND == {backend!r}
assert flowdrop_fast.normalize_conversation(rows) == ([{{"role": "user", "content": ""}}], 1)
"""
# The module has had three names, and reports errors in two ways.
RUN = """
try:
    import _interpreters as interpreters
    kinds = [{"config": "legacy"}, {"config": "isolated"}]
    def run(interpreter, code):
        failure = interpreters.exec(interpreter, code)
        return failure and failure.formatted
except ImportError:
    import _xxsubinterpreters as interpreters
    kinds = [{"isolated": False}, {"isolated": True}]
    def run(interpreter, code):
        try:
            interpreters.run_string(interpreter, code)
        except interpreters.RunFailedError as failure:
            return str(failure)
"""


NATIVE_REFUSED = ("Interpreter change detected", "does not support loading in subinterpreters")


def use(choice, backend):
    """Code that imports with a choice, and must get that backend."""
    return USE.format(choice=choice, backend=backend)


def in_a_process(code):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN + code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_reference_works_in_each():
    code = f"""
{use("pure", "pure")}
for kind in kinds * 3:
    interpreter = interpreters.create(**kind)
    assert run(interpreter, {use("pure", "pure")!r}) is None
    interpreters.destroy(interpreter)
{use("pure", "pure")}
print("done")
"""
    assert in_a_process(code).endswith("done\n")


@pytest.mark.usefixtures("both_backends")
def test_the_compiled_backend_works_in_the_first_and_says_so_in_others():
    code = f"""
{use("native", "native")}
for kind in kinds:
    interpreter = interpreters.create(**kind)
    print(run(interpreter, {use("native", "native")!r}))
    assert run(interpreter, {use("pure", "pure")!r}) is None
    interpreters.destroy(interpreter)
assert flowdrop_fast.normalize_conversation(rows) == ([{{"role": "user", "content": ""}}], 1)
print("done")
"""
    said = in_a_process(code)
    assert said.endswith("done\n")
    assert sum(said.count(refusal) for refusal in NATIVE_REFUSED) == 2
    assert "ImportError" in said


@pytest.mark.usefixtures("both_backends")
def test_without_a_choice_the_others_fall_back_to_the_reference():
    code = f"""
{use("auto", "native")}
for kind in kinds:
    interpreter = interpreters.create(**kind)
    failure = run(interpreter, {use("auto", "pure")!r})
    assert failure is None, failure
    interpreters.destroy(interpreter)
assert flowdrop_fast.normalize_conversation(rows) == ([{{"role": "user", "content": ""}}], 1)
print("done")
"""
    assert in_a_process(code).endswith("done\n")


@pytest.mark.usefixtures("both_backends")
def test_without_a_choice_the_main_one_falls_back_where_it_is_not_the_first():
    code = f"""
interpreter = interpreters.create(**kinds[0])
failure = run(interpreter, {use("auto", "native")!r})
assert failure is None, failure
{use("auto", "pure")}
print("done")
"""
    assert in_a_process(code).endswith("done\n")


@pytest.mark.usefixtures("both_backends")
def test_the_extension_is_declared_as_the_documentation_says():
    """Free-threaded interpreters keep their GIL off; others have none to switch."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        code = "import flowdrop_fast._native; print(sys._is_gil_enabled())"
        assert in_a_process(f"import sys; {code}") == "False\n"
    else:
        assert getattr(sys, "_is_gil_enabled", lambda: True)()
