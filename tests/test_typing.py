"""The types that users see, as `mypy --strict` sees them."""

from pathlib import Path

from mypy import api

import flowdrop_fast

USES = Path(__file__).parent / "typing_uses.py"


def test_the_package_says_that_it_is_typed():
    package = Path(flowdrop_fast.__file__).parent
    assert (package / "py.typed").exists()
    assert (package / "_native.pyi").exists()


def test_uses(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(Path(flowdrop_fast.__file__).parent.parent))
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = true\n")
    options = ["--config-file", str(config), "--cache-dir", str(tmp_path / "cache")]
    found, errors, status = api.run([*options, str(USES)])
    assert (found, errors, status) == ("Success: no issues found in 1 source file\n", "", 0)
