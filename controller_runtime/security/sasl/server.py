"""What every mechanism's server side is: tokens of the client in, challenges out, until it is known who it is.

A mechanism raises `Refused`, with the words that the client may read, or none: then it reads the same words for every
cause, so that nobody learns from them what was right.
"""

from __future__ import annotations

from typing import Protocol

from controller_runtime.security.principals import Identity
from controller_runtime.values import dataclass


class Refused(Exception):
    """The client is not who it says. `words` go to the client; `why` only to the log, and holds no secret."""

    def __init__(self, why: str, words: str | None = None) -> None:
        self.words = words
        super().__init__(why)


class NotYet(Exception):
    """Nobody can say yet who exists: the client may come again."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """To the client; its answer follows."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """The last word to the client."""

    identity: Identity
    data: bytes = b""


class ServerMechanism(Protocol):
    def on_token(self, token: bytes) -> Challenge | Accepted:
        """Raises Refused."""
        ...
