"""`python -m flowdrop_fast`: the same as the `flowdrop-fast` command."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
