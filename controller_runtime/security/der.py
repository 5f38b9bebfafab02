"""Just enough DER to read a certificate: its subject, when it ends, which hosts it is for.

OpenSSL has judged what is read here before (a peer's chain was verified, our own was loaded), so this reader decides
nothing about trust; still it raises `BadDer` for anything that is not what it should be, and never reads outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from controller_runtime.values import dataclass

SEQUENCE: Final = 0x30
_SET: Final = 0x31
_OID: Final = 0x06
_OCTETS: Final = 0x04
_UTC_TIME: Final = 0x17
_GENERALIZED_TIME: Final = 0x18
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_SUBJECT_ALT_NAME: Final = "2.5.29.17"
_DNS_NAME: Final = 0x82
_IP_ADDRESS: Final = 0x87


class BadDer(ValueError):
    """The bytes are not what they should be."""


class Element(NamedTuple):
    tag: int
    content: bytes
    whole: bytes
    """With tag and length."""


class Attribute(NamedTuple):
    """Of a name: what it is called, and its value as it is encoded."""

    oid: str
    value: Element


@dataclass(frozen=True, slots=True)
class Certificate:
    subject: tuple[tuple[Attribute, ...], ...]
    """Relative names, in the order of the certificate: the most general one first."""
    not_before: str
    not_after: str
    """YYYYMMDDHHMMSS, UTC."""
    hosts: frozenset[tuple[str, bytes]]
    """Its subject alternative names: `dns`, `ip` or another kind's number, and the bytes."""
    issuer_der: bytes
    subject_der: bytes


def elements(data: bytes) -> Iterator[Element]:
    at = 0
    while at < len(data):
        one, at = _element(data, at)
        yield one


def single(data: bytes, tag: int) -> Element:
    """The one element that fills `data`."""
    one, end = _element(data, 0)
    if one.tag != tag or end != len(data):
        raise BadDer(f"one element with tag {tag:#x} was expected")
    return one


def _element(data: bytes, at: int) -> tuple[Element, int]:
    start = at
    if at + 2 > len(data):
        raise BadDer("it ends within an element")
    tag, length = data[at], data[at + 1]
    at += 2
    if tag & 0x1F == 0x1F:
        raise BadDer("tags of several bytes do not occur in certificates")
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4 or at + count > len(data):
            raise BadDer("a length of more than four bytes")
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    end = at + length
    if end > len(data):
        raise BadDer("an element is longer than what holds it")
    return Element(tag, data[at:end], data[start:end]), end


def read_certificate(der: bytes) -> Certificate:
    """Raises BadDer."""
    outer = list(elements(single(der, SEQUENCE).content))
    fields = [one for one in elements(_content(outer, 0, SEQUENCE)) if one.tag != _VERSION]
    validity = list(elements(_content(fields, 3, SEQUENCE)))
    subject = _content(fields, 4, SEQUENCE)
    extensions = next((one.content for one in fields[5:] if one.tag == _EXTENSIONS), b"")
    if len(validity) != 2:
        raise BadDer("a validity has two ends")
    return Certificate(
        subject=tuple(read_name(subject)),
        not_before=_time(validity[0]),
        not_after=_time(validity[1]),
        hosts=frozenset(_hosts(extensions)),
        issuer_der=_content(fields, 2, SEQUENCE),
        subject_der=subject,
    )


def _content(found: list[Element], index: int, tag: int) -> bytes:
    if index >= len(found) or found[index].tag != tag:
        raise BadDer(f"field {index} of a certificate is missing")
    return found[index].content


def read_name(subject: bytes) -> Iterator[tuple[Attribute, ...]]:
    """The relative names of a subject, the most general one first. Raises BadDer."""
    for relative in elements(subject):
        if relative.tag != _SET:
            raise BadDer("a name consists of sets")
        yield tuple(_attribute(one) for one in elements(relative.content))


def _attribute(pair: Element) -> Attribute:
    parts = list(elements(pair.content))
    if pair.tag != SEQUENCE or len(parts) != 2 or parts[0].tag != _OID:
        raise BadDer("an attribute of a name has a type and a value")
    return Attribute(oid_text(parts[0].content), parts[1])


def oid_text(content: bytes) -> str:
    numbers, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if number >> 128:
            raise BadDer("an object identifier that is too large")
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers or content[-1] & 0x80:
        raise BadDer("an object identifier that does not end")
    top = min(numbers[0] // 40, 2)
    return ".".join(map(str, (top, numbers[0] - 40 * top, *numbers[1:])))


def _time(one: Element) -> str:
    text = one.content.decode("ascii", "replace")
    if one.tag == _UTC_TIME:
        text = ("19" if text[:2] >= "50" else "20") + text
    elif one.tag != _GENERALIZED_TIME:
        raise BadDer("a time was expected")
    if len(text) != 15 or not text[:14].isdigit() or text[14] != "Z":
        raise BadDer(f"{text[:20]!r} is no time of a certificate")
    return text[:14]


def _hosts(extensions: bytes) -> Iterator[tuple[str, bytes]]:
    for holder in elements(extensions):
        for extension in elements(holder.content):
            parts = list(elements(extension.content))
            if len(parts) < 2 or parts[0].tag != _OID or oid_text(parts[0].content) != _SUBJECT_ALT_NAME:
                continue
            for name in elements(single(single(parts[-1].whole, _OCTETS).content, SEQUENCE).content):
                kind = {_DNS_NAME: "dns", _IP_ADDRESS: "ip"}.get(name.tag, str(name.tag))
                yield kind, name.content
