"""Build switch for the compiled backend; everything else is in pyproject.toml.

``FLOWDROP_FAST_BUILD`` chooses what is built:

- ``auto`` (the default): the extension, or the pure package where it can't be compiled;
- ``pure``: the pure package;
- ``require``: the extension, or an error.

``FLOWDROP_FAST_TRACE=1`` builds an extension whose lines a coverage tool can see.
"""

import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext as _build_ext  # Cython's, where it is installed

BUILDS = ("auto", "pure", "require")
BUILD = os.environ.get("FLOWDROP_FAST_BUILD") or "auto"
if BUILD not in BUILDS:
    sys.exit(f"FLOWDROP_FAST_BUILD={BUILD!r} is unknown; it is one of: {', '.join(BUILDS)}")

TRACE = os.environ.get("FLOWDROP_FAST_TRACE") == "1"

# Compiled Cython is slower than pure Python on PyPy and its like.
WANTED = BUILD == "require" or (BUILD == "auto" and sys.implementation.name == "cpython")


class build_ext(_build_ext):  # noqa: N801  (setuptools names commands in lower case)
    """Build the extension where it is wanted and can be, and say plainly where it isn't."""

    def run(self) -> None:
        # The result depends on environment variables, which time stamps don't show, and an
        # extension left from an earlier build must not pass for this one.
        self.force = True
        for path in self.targets():
            if os.path.exists(path):
                os.remove(path)
        if WANTED:
            self.require_cython()
            super().run()
        if not all(map(os.path.exists, self.targets())):
            self.build_pure_package()

    def build_extensions(self) -> None:
        if not TRACE:
            # An environment CFLAGS replaces the interpreter's own -O3.
            optimize = "/O2" if self.compiler.compiler_type == "msvc" else "-O3"
            for extension in self.extensions:
                extension.extra_compile_args.append(optimize)
        super().build_extensions()

    def targets(self) -> set[str]:
        """Return the paths that the extension is written to: both, for an in-place build."""
        return {
            path
            for extension in self.extensions
            for path in (
                os.path.join(self.build_lib, self.get_ext_filename(extension.name)),
                self.get_ext_fullpath(extension.name),
            )
        }

    def require_cython(self) -> None:
        try:
            import Cython  # noqa: F401, PLC0415  (the pure package needs no Cython)
        except ImportError:
            sys.exit("flowdrop_fast._native needs Cython; FLOWDROP_FAST_BUILD=pure does without")

    def build_pure_package(self) -> None:
        if BUILD == "auto":
            self.warn(
                "flowdrop_fast._native was not built: this is the PURE PYTHON package, slower and "
                "otherwise the same. Set FLOWDROP_FAST_BUILD=require to make this an error."
            )
        # The commands that come after ask these two what they package; without this, a wheel
        # with no extension in it would be tagged for one platform.
        self.distribution.ext_modules = []
        bdist_wheel = self.distribution.get_command_obj("bdist_wheel", create=False)
        if bdist_wheel is not None:
            bdist_wheel.root_is_pure = True


native = Extension(
    "flowdrop_fast._native",
    ["src/_native.pyx"],
    define_macros=[("CYTHON_TRACE", "1")] if TRACE else [],
    optional=BUILD == "auto",
)
native.cython_c_in_temp = not TRACE  # Cython.Coverage looks for the C beside its source
native.cython_directives = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "freethreading_compatible": True,
    "linetrace": TRACE,
}

setup(ext_modules=[native], cmdclass={"build_ext": build_ext})
