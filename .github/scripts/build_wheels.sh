#!/usr/bin/env bash
# Builds and tests the wheels of one platform, from the sdist in dist/, into dist/:
#   .github/scripts/build_wheels.sh PLATFORM ARCHITECTURE
# What is built and how it is tested stands in pyproject.toml. Needs Python 3.11.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$(sed -n 's/^  "cibuildwheel==\(.*\)",$/\1/p' pyproject.toml)
python -m pip install -q "cibuildwheel==$version"
python -m cibuildwheel dist/*.tar.gz --platform "$1" --archs "$2" \
  --config-file '{package}/pyproject.toml' --output-dir dist
rm dist/*.tar.gz # only the wheels are handed on
