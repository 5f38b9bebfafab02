"""A hostile client: its name, the listeners at which it tries, what it sends, and what may come of it.

`wanted` names what is right: `closed`, `silent`, `answered` (any errors), `refused` (closed, or answered with an
error), or errors of which one must be in the answer. Whatever comes, the process must live and serve others.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from controller_runtime.protocol.api_keys import ListenerType, request_header_version
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.schema import FieldSpec, Message, Struct
from support.fuzz.tree import Group, render, tree_of

BOTH: Final = (ListenerType.BROKER, ListenerType.CONTROLLER)
BROKER: Final = (ListenerType.BROKER,)
CONTROLLER: Final = (ListenerType.CONTROLLER,)
CORRELATION: Final = 7
VICTIM: Final = "victim"
"""A topic with one partition on every node that is asked."""
MAX_REQUEST_BYTES: Final = 8 << 20
"""`socket.request.max.bytes` of the nodes."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Bytes on one connection, and then the answer to the last request among them, if it is one."""

    sent: bytes
    key: int = -1
    version: int = -1


Act = Callable[[int], str]
"""What is more than bytes: given a port, tells what came."""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    listeners: tuple[ListenerType, ...]
    does: Ask | Act
    wanted: tuple[str, ...]

    def is_right(self, seen: str) -> bool:
        """`seen`: `closed`, `silent`, or `answered` and the errors."""
        errors = seen.removeprefix("answered").split()
        for each in self.wanted:
            match each:
                case "closed" | "silent":
                    right = seen == each
                case "answered":
                    right = seen.startswith("answered")
                case "refused":
                    right = seen == "closed" or any(error != "NONE" for error in errors)
                case _:
                    right = each in errors
            if right:
                return True
        return False


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def head(key: int, version: int, *, tags: bytes = b"\0", client: bytes = b"\0\x02me") -> bytes:
    """A request's header; `tags` only where the version is flexible."""
    made = struct.pack(">hhi", key, version, CORRELATION) + client
    return made + tags if request_header_version(key, version) == 2 else made


def right(body: Message, version: int) -> Ask:
    """A request as it should be."""
    assert body.KEY is not None
    return Ask(encode_request(body, version, CORRELATION, "me"), body.KEY, version)


def lied(body: Message, version: int, lie: Callable[[Group], None]) -> Ask:
    """A right request, changed as a tree."""
    assert body.KEY is not None
    tree = tree_of(type(body), version, _Nothing(), body)
    lie(tree)
    out = bytearray(head(body.KEY, version))
    render(tree, out)
    return Ask(framed(bytes(out)), body.KEY, version)


def by_hand(key: int, version: int, body: bytes, *, header: bytes | None = None) -> Ask:
    return Ask(framed((head(key, version) if header is None else header) + body), key, version)


def together(asks: Sequence[Ask]) -> Ask:
    """All on one connection; the answer to the last one counts."""
    return Ask(b"".join(each.sent for each in asks), asks[-1].key, asks[-1].version)


class _Nothing:
    """No chance: everything is said by the message."""

    def number(self, spec: FieldSpec, owner: type[Struct]) -> Any:
        raise AssertionError(f"{owner}.{spec} is not said")

    def text(self, spec: FieldSpec, owner: type[Struct]) -> bytes:
        raise AssertionError(f"{owner}.{spec} is not said")

    def count(self, spec: FieldSpec) -> int:
        raise AssertionError(f"{spec} is not said")

    def is_null(self) -> bool:
        return False

    def is_set(self) -> bool:
        return False
