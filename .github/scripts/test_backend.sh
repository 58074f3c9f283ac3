#!/usr/bin/env bash
# Installs the package with one backend into an environment of its own and runs its tests:
#   .github/scripts/test_backend.sh native|pure
set -euo pipefail
cd "$(dirname "$0")/../.."

home=$(mktemp -d)
python -m venv "$home"
"$home/bin/pip" install -q "pip>=25.1" # the first that knows dependency groups
case $1 in
native) FLOWDROP_FAST_BUILD=require "$home/bin/pip" install -q . --group suite ;;
pure) FLOWDROP_FAST_BUILD=pure "$home/bin/pip" install -q . --group suite ;;
*) exit 2 ;;
esac
"$home/bin/python" tools/test_installed.py "$1"
