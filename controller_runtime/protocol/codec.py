"""Messages to bytes and back: one compiled function per message and version, made on first use.

    body = encode(FetchRequest(max_wait_ms=500), version=17)
    request = decode(FetchRequest, body, version=17)
    header, start = decode_prefix(RequestHeader, frame, version=2, offset=0)
    request, end, made = decode_within(FetchRequest, frame, version=17, offset=start, budget=50_000)

A round trip gives the same bytes, unknown tagged fields included. `decode` wants the whole input consumed. Bytes that
are not the message raise `MalformedMessage` with message, version, field and position; a message that cannot be written
raises `UnsupportedField` or `InvalidValue`. Values are checked only as far as they have no form on the wire. Nothing is
kept of the input: `bytes` fields are copies.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, TypeVar

from controller_runtime.protocol.errors import MalformedMessage, TooManyElements, UnsupportedMessageVersion
from controller_runtime.protocol.primitives import Invalid, OverBudget

if TYPE_CHECKING:
    from collections.abc import Callable

    from controller_runtime.protocol.schema import Message

M = TypeVar("M", bound="Message")

SURVEYED_BYTES: Final = 1024
"""Larger messages are walked over before they are decoded, so that a flawed one costs no memory; smaller ones cannot
cost much: every element and every tagged field takes a byte at least, so no more of them are made than there are bytes
(a test looks at every layout)."""
NO_BUDGET: Final = 1 << 62
"""For what our own nodes and tools asked for."""


def encode(message: Message, version: int) -> bytes:
    """The bytes of a message, without header or length."""
    parts: list[bytes] = []
    write = message.ENCODERS.get(version) or _compile_encoder(message.__class__, version)
    try:
        write(message, parts.append)
        return b"".join(parts)
    except (struct.error, Invalid, ValueError, AttributeError, TypeError) as error:
        from controller_runtime.protocol.explain import why_not_encodable

        raise why_not_encodable(message, version) from error


def decode(cls: type[M], data: bytes | bytearray | memoryview, version: int) -> M:
    """The message that `data` is, to its last byte."""
    if data.__class__ is not bytes:
        data = bytes(data)
    end = len(data)
    read = cls.DECODERS.get(version) or _compile_decoder(cls, version)
    try:
        if end > SURVEYED_BYTES and _survey(cls, data, version, 0, NO_BUDGET)[0] != end:
            raise Invalid
        message, position = read(data, 0, end)
    except (IndexError, struct.error, ValueError) as error:
        raise _explained(cls, data, version, 0, whole=True) from error
    if position != end:
        raise _explained(cls, data, version, 0, whole=True)
    return message  # type: ignore[no-any-return]


def decode_prefix(cls: type[M], data: bytes | bytearray | memoryview, version: int, offset: int = 0) -> tuple[M, int]:
    """The message that begins at `offset`, and the position after it."""
    if data.__class__ is not bytes:
        data = bytes(data)
    end = len(data)
    read = cls.DECODERS.get(version) or _compile_decoder(cls, version)
    try:
        if end > SURVEYED_BYTES and _survey(cls, data, version, offset, NO_BUDGET)[0] > end:
            raise Invalid
        message, position = read(data, offset, end)
    except (IndexError, struct.error, ValueError) as error:
        raise _explained(cls, data, version, offset, whole=False) from error
    if position > end:
        raise _explained(cls, data, version, offset, whole=False)
    return message, position


def decode_within(cls: type[M], data: bytes, version: int, offset: int, budget: int) -> tuple[M, int, int]:
    """As `decode_prefix`, for bytes of strangers: refused with `TooManyElements`, before anything is made, if more than
    `budget` elements and tagged fields would be. Returns how many there are, too; of a message so small that nobody
    counted, 0."""
    end = len(data)
    made = walk_within(cls, data, version, offset, budget) if end > SURVEYED_BYTES else 0
    read = cls.DECODERS.get(version) or _compile_decoder(cls, version)
    try:
        message, position = read(data, offset, end)
    except (IndexError, struct.error, ValueError) as error:
        raise _explained(cls, data, version, offset, whole=False) from error
    if position > end:
        raise _explained(cls, data, version, offset, whole=False)
    return message, position, made


def walk_within(cls: type[Message], data: bytes, version: int, offset: int, budget: int) -> int:
    """What `decode_within` does before it makes anything: a large message is walked over. Returns how many elements and
    tagged fields it has; 0 of a small one."""
    end = len(data)
    if end <= SURVEYED_BYTES:
        return 0
    try:
        position, left = _survey(cls, data, version, offset, budget)
    except OverBudget as over:
        raise TooManyElements(cls.__name__, version, over.field, over.count, budget) from None
    except (IndexError, struct.error, ValueError) as error:
        raise _explained(cls, data, version, offset, whole=False) from error
    if position > end:
        raise _explained(cls, data, version, offset, whole=False)
    return budget - left


def source(cls: type[Message], version: int) -> tuple[str, str]:
    """The source of the decode and encode functions, for people who look under the bonnet."""
    from controller_runtime.protocol.decoder_source import DecoderSource
    from controller_runtime.protocol.encoder_source import EncoderSource

    return DecoderSource(cls, version).source(), EncoderSource(cls, version).source()


def _survey(cls: type[Message], data: bytes, version: int, offset: int, budget: int) -> tuple[int, int]:
    """Where the message ends, and what is left of the budget."""
    function = cls.SURVEYS.get(version)
    if function is None:
        _check_version(cls, version)
        from controller_runtime.protocol.survey_source import SurveySource

        made = SurveySource(cls, version)
        code = compile(made.source(), f"<survey {cls.__name__} v{version}>", "exec")
        exec(code, made.scope)  # noqa: S102 - the source is made of our own layouts
        function = cls.SURVEYS[version] = made.scope["survey"]
    return function(data, offset, len(data), budget)


def _compile_decoder(cls: type[Message], version: int) -> Callable[[bytes, int, int], tuple[Any, int]]:
    from controller_runtime.protocol.decoder_source import DecoderSource

    _check_version(cls, version)
    made = DecoderSource(cls, version)
    code = compile(made.source(), f"<decode {cls.__name__} v{version}>", "exec")
    exec(code, made.scope)  # noqa: S102 - the source is made of our own layouts
    function: Callable[[bytes, int, int], tuple[Any, int]] = made.scope["decode"]
    cls.DECODERS[version] = function
    return function


def _compile_encoder(cls: type[Message], version: int) -> Callable[[Any, Callable[[bytes], None]], None]:
    from controller_runtime.protocol.encoder_source import EncoderSource

    _check_version(cls, version)
    made = EncoderSource(cls, version)
    code = compile(made.source(), f"<encode {cls.__name__} v{version}>", "exec")
    exec(code, made.scope)  # noqa: S102 - the source is made of our own layouts
    function: Callable[[Any, Callable[[bytes], None]], None] = made.scope["encode"]
    cls.ENCODERS[version] = function
    return function


def _check_version(cls: type[Message], version: int) -> None:
    if version not in cls.VERSIONS:
        raise UnsupportedMessageVersion(cls.__name__, version, str(cls.VERSIONS))


def _explained(cls: type[Message], data: bytes, version: int, offset: int, *, whole: bool) -> MalformedMessage:
    from controller_runtime.protocol.explain import why_malformed

    return why_malformed(cls, data, version, offset, whole)
