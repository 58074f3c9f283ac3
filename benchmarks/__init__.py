"""Measurements of flowdrop-fast: no part of the package, never installed."""
