"""The n-th frame of a seed: where it goes and its bytes, from these two numbers alone.

    shot(seed=7, number=1234)

Half of them are made of the layouts, a third of what a real Apache Kafka was sent, the rest is spoilt byte by byte or
is no frame. Every API and every version that a listener serves is drawn; what can be forwarded also travels in an
Envelope to a controller.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from random import Random
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.parts.api_table import served
from controller_runtime.protocol.api_keys import (
    APIS,
    ApiKey,
    ListenerType,
    api,
    find_api,
    request_class,
    request_header_version,
)
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from support.fuzz import mutate
from support.fuzz.corpus import recorded
from support.fuzz.tree import Fixed, Group, Text, render, tree_of
from support.fuzz.words import Words


class Target(StrEnum):
    """A listener of the nodes under test."""

    BROKER = "broker"
    CONTROLLER_1 = "controller-1"
    CONTROLLER_2 = "controller-2"
    CONTROLLER_3 = "controller-3"
    COMBINED_BROKER = "combined-broker"
    COMBINED_CONTROLLER = "combined-controller"

    @property
    def role(self) -> ListenerType:
        return ListenerType.BROKER if self in (Target.BROKER, Target.COMBINED_BROKER) else ListenerType.CONTROLLER


WEIGHTS: Final = {
    Target.BROKER: 40, Target.CONTROLLER_1: 12, Target.CONTROLLER_2: 12, Target.CONTROLLER_3: 12,
    Target.COMBINED_BROKER: 14, Target.COMBINED_CONTROLLER: 10,
}  # fmt: skip
FAVOURED: Final = {
    ListenerType.BROKER: (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.CREATE_TOPICS, ApiKey.INCREMENTAL_ALTER_CONFIGS),
    ListenerType.CONTROLLER: (ApiKey.ENVELOPE,),
}
MAX_BYTES: Final = 2 << 20
NEIGHBOURS: Final = 1 << 20
"""Frames that can be under way at the same time are nearer to each other."""
FAR: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Shot:
    number: int
    target: Target
    key: int
    """As its header says; -1: it has none."""
    version: int
    payload: bytes
    is_frame: bool = True
    """False: these bytes go out as they are, on a connection of their own."""

    @property
    def wire(self) -> bytes:
        return len(self.payload).to_bytes(4, "big") + self.payload if self.is_frame else self.payload


@cache
def _targets() -> tuple[list[Target], list[int]]:
    return list(WEIGHTS), list(WEIGHTS.values())


@cache
def _served(role: ListenerType) -> list[tuple[int, int, int]]:
    """Key, lowest, highest version."""
    rows = [(int(key), versions.lowest, versions.highest) for key, versions in served(role).items()]
    return rows + [row for row in rows if row[0] in FAVOURED[role]] * 2


def shot(seed: int, number: int) -> Shot:
    rng = Random(seed << 40 | number)
    targets, weights = _targets()
    target = rng.choices(targets, weights)[0]
    key, version = _api(target.role, rng)
    draw = rng.random()
    payload = _message(key, version, number, rng, valid=draw < 0.25, from_life=rng.random() < 0.35)
    if len(payload) > MAX_BYTES:
        payload = payload[:MAX_BYTES]
    if draw >= 0.98:
        return Shot(number, target, -1, -1, rng.choice(mutate.UNFRAMED)(payload, rng), is_frame=False)
    if draw >= 0.90:
        payload = _not_anothers(mutate.spoil_bytes(payload, rng), number)
    return Shot(number, target, *_said(payload), payload)


def _not_anothers(payload: bytes, number: int) -> bytes:
    """A bit that turns over in the correlation id may make it that of another frame under way, whose answer this one's
    would be taken for.
    """
    told = int.from_bytes(payload[4:8], "big")
    near = told != number and abs(told - number) < NEIGHBOURS
    return payload[:4] + (number ^ FAR).to_bytes(4, "big") + payload[8:] if near else payload


def _said(payload: bytes) -> tuple[int, int]:
    return struct.unpack(">hh", payload[:4]) if len(payload) >= 4 else (-1, -1)


def _api(role: ListenerType, rng: Random) -> tuple[int, int]:
    if rng.random() < 0.03:
        any_api = rng.choice(APIS)
        return int(any_api.key), rng.randint(any_api.lowest, any_api.highest)
    key, lowest, highest = rng.choice(_served(role))
    if rng.random() < 0.02:
        return key, rng.choice((-1, lowest - 1, highest + 1, 32767, -32768))
    return key, rng.randint(lowest, highest)


def _message(key: int, version: int, correlation: int, rng: Random, *, valid: bool, from_life: bool) -> bytes:
    """A whole request. An API or a version that does not exist gets the body of a near one."""
    rows = recorded().get(key) if from_life else None
    if key == ApiKey.ENVELOPE and not from_life:
        tree = _envelope(correlation, rng)
    else:
        given = rng.choice(rows) if rows else None
        cls = request_class(key)
        if given is not None and rng.random() < 0.8:
            version = given.version
        readable = min(max(version, cls.VERSIONS.lowest), cls.VERSIONS.highest)
        known = given.body if given is not None and given.version == readable else None
        tree = tree_of(cls, readable, Words(rng).of(cls), known)
    header = _header(key, version, correlation, rng)
    if not valid:
        mutate.spoil(header if rng.random() < 0.06 else tree, rng)
    out = bytearray()
    render(header, out)
    render(tree, out)
    return bytes(out)


def _header(key: int, version: int, correlation: int, rng: Random) -> Group:
    flexible = find_api(key) is not None and request_header_version(key, version) == 2
    made = tree_of(RequestHeader, 2 if flexible else 1, Words(rng), RequestHeader())
    numbers = zip(("int16", "int16", "int32"), (key, version, correlation & 0x7FFFFFFF), (2, 2, 4), strict=True)
    made.fields = [Fixed("header", kind, value.to_bytes(size, "big", signed=True)) for kind, value, size in numbers]
    made.fields.append(Text("client_id", "string", False, rng.choice((b"fuzz", b"fuzz", b"", None))))
    return made


def _envelope(correlation: int, rng: Random) -> Group:
    """Somebody else's request, as a broker forwards it; sometimes one that no broker would."""
    forwardable = [row for row in _served(ListenerType.CONTROLLER) if api(row[0]).is_forwardable]
    key, lowest, highest = rng.choice(forwardable if rng.random() < 0.9 else _served(ListenerType.CONTROLLER))
    inner = _message(key, rng.randint(lowest, highest), correlation, rng, valid=rng.random() < 0.4,
        from_life=rng.random() < 0.3) if (
        key != ApiKey.ENVELOPE) else rng.randbytes(20)  # fmt: skip
    if rng.random() < 0.1:
        inner = mutate.spoil_bytes(inner, rng)
    principal = (0).to_bytes(2, "big") + encode(
        DefaultPrincipalData(type="User", name=rng.choice(("ANONYMOUS", "", "x" * 300))), 0
    )
    body = EnvelopeRequest(
        request_data=inner,
        request_principal=principal if rng.random() < 0.9 else rng.randbytes(rng.randrange(40)),
        client_host_address=rng.choice((b"\x7f\0\0\1", b"\x7f\0\0\1", bytes(16), b"", b"\1")),
    )
    return tree_of(EnvelopeRequest, 0, Words(rng), body)


def named(shot_: Shot) -> str:
    """For people: `broker CreateTopics v4 (1234 bytes)`."""
    found = find_api(shot_.key)
    what = "no frame" if not shot_.is_frame else f"{found.name if found else shot_.key} v{shot_.version}"
    return f"{shot_.target} {what} ({len(shot_.payload)} bytes)"


def fill(data: bytes, ids: dict[bytes, bytes]) -> bytes:
    """The placeholders replaced by the ids of the running cluster."""
    for placeholder, real in ids.items():
        if placeholder in data:
            data = data.replace(placeholder, real)
    return data


ANY_ID: Final = Uuid(bytes(16))
