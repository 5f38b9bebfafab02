"""What a container said before it ended, short enough for a status and without its secrets.

Kubernetes keeps the end of the log of a container that failed (`terminationMessagePolicy: FallbackToLogsOnError`), at
most 80 lines or 2,048 bytes. Of these the lines that name an error are worth most; where none does, the last ones.
Redaction errs on the side of hiding: whatever follows a word that may name a secret is hidden to the end of its value.
"""

from __future__ import annotations

import re
from typing import Final

MAX_LENGTH: Final = 500
MAX_LINES: Final = 3
HIDDEN: Final = "[hidden]"

_TELLING: Final = re.compile(r"ERROR|FATAL|CRITICAL|Exception|Error\b|\berror:|Caused by|cannot |OutOfMemory")
_SECRET: Final = re.compile(
    r"(?i)((?:password|passwd|passphrase|secret|token|credential|private[._ -]?key|api[._-]?key|jaas\.config)[\w.-]*)"
    r"(\s*[=:]\s*|\s+)(\"[^\"]*\"?|'[^']*'?|[^\s,;\"']+)"
)
_JAAS: Final = re.compile(r"(?i)(jaas\.config[\w.-]*\s*[=:]\s*).*")
_PEM: Final = re.compile(r"-----BEGIN .*")
_USER_IN_URL: Final = re.compile(r"://[^/\s@]+@")


def last_words(message: str) -> str:
    """At most three lines, joined; empty when nothing was said."""
    lines = [" ".join(line.split()) for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith("at ")]
    telling = [line for line in lines if _TELLING.search(line)]
    chosen = (telling or lines)[-MAX_LINES:]
    text = " / ".join(redacted(line) for line in dict.fromkeys(chosen))
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


def redacted(line: str) -> str:
    line = _PEM.sub(HIDDEN, _JAAS.sub(rf"\1{HIDDEN}", line))
    line = _USER_IN_URL.sub(f"://{HIDDEN}@", line)
    return _SECRET.sub(rf"\1\2{HIDDEN}", line)
