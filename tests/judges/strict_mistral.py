"""The judge process of mistral-common 1.11.0, which needs an environment of its own.

Run by that environment's interpreter: reads JSON Lines of `{"name", "rows"}` from standard input,
writes one line of `{"name", "complaint"}` for each, `null` if there is none. Nothing of this
project can be imported here. The environment is made by `test_mistral_strict.py`.
"""

from __future__ import annotations

import json
import sys

from mistral_common.protocol.instruct.converters import convert_openai_messages
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion

VALIDATOR = get_validator(TokenizerVersion.v11, ValidationMode.serving)


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        complaint = None
        try:
            VALIDATOR.validate_messages(convert_openai_messages(asked["rows"]), False)
        except Exception as error:  # whatever it raises, it refuses
            complaint = f"{type(error).__name__}: {error}"
        print(json.dumps({"name": asked["name"], "complaint": complaint}))


if __name__ == "__main__":
    main()
