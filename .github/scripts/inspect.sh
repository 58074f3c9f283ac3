#!/usr/bin/env bash
# Checks that a directory holds the files of a release, all of them and whole: inspect.sh DIRECTORY
set -euo pipefail
place=$(realpath "$1")
cd "$(dirname "$0")/../.."

python -m pip install -q "pip>=25.1"
python -m pip install -q --group dist
python .github/scripts/check_artefacts.py "$place"
twine check --strict "$place"/*
check-wheel-contents "$place"/*.whl
