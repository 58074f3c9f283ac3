"""Which backends the tests run on, how hard Hypothesis looks, and what the collector sees.

A test that takes `backend` runs once on each; one that takes `both_backends` compares them. Each
module is imported by its own name, so that a missing backend is an error of every test on it.
"""

import gc
import importlib
import os

import pytest
from hypothesis import HealthCheck, settings

BACKENDS = ("pure", "native")

settings.register_profile(
    "dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_addoption(parser):
    parser.addoption(
        "--backend",
        choices=("both", *BACKENDS),
        default="both",
        help="which backends to test; without the compiled one, only --backend=pure can pass",
    )


def pytest_report_header(config):
    chosen = _chosen(config)
    lines = []
    for name in BACKENDS:
        try:
            found = importlib.import_module(f"flowdrop_fast._{name}").__file__
        except ImportError as error:
            found = f"MISSING ({error})"
        lines.append(f"backend {name}{'' if name in chosen else ' (not tested)'}: {found}")
    return lines


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", _chosen(metafunc.config), indirect=True, scope="session")


def pytest_collection_modifyitems(config, items):
    """A comparison needs both backends; where only one is tested, say that it was left out."""
    if _chosen(config) == BACKENDS:
        return
    comparing = [item for item in items if "both_backends" in getattr(item, "fixturenames", ())]
    if comparing:
        config.hook.pytest_deselected(items=comparing)
        items[:] = [item for item in items if item not in comparing]


@pytest.fixture(scope="session")
def backend(request):
    """One of the two modules that define the functions."""
    return importlib.import_module(f"flowdrop_fast._{request.param}")


@pytest.fixture(scope="session")
def both_backends():
    """The reference and its compiled twin."""
    return tuple(importlib.import_module(f"flowdrop_fast._{name}") for name in BACKENDS)


@pytest.fixture(scope="module")
def quick_collector():
    """The collector sees only what the tests of a module make: a collection takes no time then."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def _chosen(config):
    chosen = config.getoption("--backend")
    return BACKENDS if chosen == "both" else (chosen,)
