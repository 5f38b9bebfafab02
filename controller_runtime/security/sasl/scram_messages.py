"""The four messages of SCRAM (RFC 5802 §7) as Apache Kafka reads them.

What is signed is each message as it came, byte for byte. Names and values are printable ASCII; a name writes `,` and
`=` as `=2C` and `=3D`. Kafka knows no channel binding, so a client begins with `n,`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Final

from controller_runtime.values import dataclass

MAX_CLIENT_ITERATIONS: Final = 65_536
"""What a client works through for a server: no Kafka keeps more than 16,384, and what asks for many more is a bomb."""

_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_RESERVED: Final = f"(?:m={_VALUE},)?"
_EXTENSIONS: Final = f"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST: Final = re.compile(
    f"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)"
    f"(?P<bare>{_RESERVED}n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_SERVER_FIRST: Final = re.compile(
    f"{_RESERVED}r=(?P<nonce>{_NONCE}),s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]{{1,9}}){_EXTENSIONS}"
)
_CLIENT_FINAL: Final = re.compile(
    f"(?P<bare>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
_SERVER_FINAL: Final = re.compile(f"(?:e=(?P<error>{_VALUE})|v=(?P<signature>{_BASE64}))(?:{_EXTENSIONS})")


class BadScram(Exception):
    """The bytes are not the message that SCRAM wants here."""


@dataclass(frozen=True, slots=True)
class ClientFirst:
    header: str
    bare: str
    name: str
    authorization: str
    nonce: str
    extensions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServerFirst:
    text: str
    nonce: str
    salt: bytes
    iterations: int


@dataclass(frozen=True, slots=True)
class ClientFinal:
    bare: str
    binding: bytes
    nonce: str
    proof: bytes


def read_client_first(token: bytes) -> ClientFirst:
    found = _CLIENT_FIRST.fullmatch(_text(token))
    if found is None:
        raise BadScram("Invalid SCRAM client first message format")
    pairs = (pair.partition("=") for pair in found["extensions"].split(",") if pair)
    return ClientFirst(
        header=found["header"],
        bare=found["bare"],
        name=unescaped(found["name"]),
        authorization=unescaped(found["authzid"] or ""),
        nonce=found["nonce"],
        extensions={name: value for name, _, value in pairs},
    )


def read_server_first(token: bytes) -> ServerFirst:
    found = _SERVER_FIRST.fullmatch(_text(token))
    if found is None:
        raise BadScram("Invalid SCRAM server first message format")
    return ServerFirst(found[0], found["nonce"], base64.b64decode(found["salt"]), int(found["iterations"]))


def read_client_final(token: bytes) -> ClientFinal:
    found = _CLIENT_FINAL.fullmatch(_text(token))
    if found is None:
        raise BadScram("Invalid SCRAM client final message format")
    return ClientFinal(found["bare"], _exactly(found["binding"]), found["nonce"], _exactly(found["proof"]))


def _exactly(text: str) -> bytes:
    """One text for some bytes, and no other: what base64 leaves unused is not a place for something else."""
    data = base64.b64decode(text)
    if base64_text(data) != text:
        raise BadScram("Invalid SCRAM client final message format")
    return data


def read_server_final(token: bytes) -> bytes:
    """The server's signature. Raises BadScram, also for an error that the server names."""
    found = _SERVER_FINAL.fullmatch(_text(token))
    if found is None or found["error"] is not None:
        raise BadScram("Invalid SCRAM server final message format" if found is None else "the server names an error")
    return base64.b64decode(found["signature"])


def _text(token: bytes) -> str:
    try:
        return token.decode("ascii")
    except UnicodeDecodeError as error:
        raise BadScram("Invalid SCRAM message format: not ASCII") from error


def escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def xored(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
