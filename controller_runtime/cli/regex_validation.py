"""`kafka-consumer-groups --validate-regex`: is this an expression that a group may subscribe by?"""

from __future__ import annotations

from controller_runtime.coordinator.patterns.matching import Pattern
from controller_runtime.coordinator.patterns.syntax import BadPattern


def validate(text: str) -> int:
    try:
        Pattern(text)
    except BadPattern as error:
        print(f"The regular expression `{text}` is invalid: {error}.")
    else:
        print(f"The regular expression `{text}` is valid.")
    return 0
