#!/usr/bin/env bash
# Installs a wheel into an environment of its own and runs the shared suite against it:
#   .github/scripts/test_wheel.sh native|pure WHEEL
set -euo pipefail
tree=$(cd "$(dirname "$0")/../.." && pwd)

home=$(mktemp -d)
python -m venv "$home"
"$home/bin/pip" install -q "pip>=25.1" # the first that knows dependency groups
"$home/bin/pip" install -q "$(realpath "$2")" --group "$tree/pyproject.toml:suite"
"$home/bin/python" "$tree/tools/test_installed.py" "$1"
