#!/usr/bin/env bash
# Builds the sdist, and from it the pure wheel, into dist/, and checks both. Needs Python 3.11.
set -euo pipefail
cd "$(dirname "$0")/../.."

python -m pip install -q "pip>=25.1" # the first that knows dependency groups
python -m pip install -q --group dist
python -m build --sdist
FLOWDROP_FAST_BUILD=pure python -m pip wheel --no-deps -w dist dist/*.tar.gz
twine check --strict dist/*
check-wheel-contents dist/*.whl
