#!/usr/bin/env bash
# Installs a wheel into an environment of its own and runs the shared suite against it:
#   .github/scripts/test_wheel.sh native|pure WHEEL
set -euo pipefail

home=$(mktemp -d)
python -m venv "$home"
"$home/bin/pip" install -q "flowdrop-fast[test] @ file://$(realpath "$2")"
"$home/bin/python" "$(dirname "$0")/../../tools/test_installed.py" "$1"
