"""Why a request about a group of the consumer protocol is not done, in Kafka's words."""

from __future__ import annotations

from controller_runtime.protocol.errors import ErrorCode


class Refused(Exception):
    """Nothing has changed; `code` and `words` are told to who asked."""

    def __init__(self, code: ErrorCode, words: str | None = None) -> None:
        super().__init__(words or code.name)
        self.code = code
        self.words = words
