"""How the matrix of authorization writes its requests, and the names that they and its ACLs are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Side

THERE: Final = "orders"
NOT_THERE: Final = "ghost"
GROUP: Final = "shop"
NOBODYS: Final = Uuid.of(0x0B0D_0000_0000_4000, 0x8000_0000_0000_0077)
Body = Callable[[Side], Message]


def same(build: str, **fields: Any) -> Body:
    """Of both sides."""
    message = made(build, **fields)
    return lambda _: message


def made(name: str, **fields: Any) -> Message:
    cls: Callable[..., Message] = message_class(name)
    return cls(**fields)


def id_of(side: Side, name: str) -> Uuid:
    return side.topic_ids.get(name, NOBODYS)
