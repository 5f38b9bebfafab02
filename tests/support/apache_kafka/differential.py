"""The same requests to an Apache Kafka and to a node of ours, and where the answers differ.

    METADATA = Table(ApiKey.METADATA, (Role.BROKER,), (
        Case("all topics", MetadataRequest(topics=None)), Case("a topic by its id", lambda side:
        MetadataRequest(topics=(by_id(side.topic_ids["orders"]),)), versions=range(10, 14)),
    ), unlike=(Unlike("*: all topics", "the words in bold of docs/deviations.md", fields=("topics",)),))

    def test_metadata(pair: Pair) -> None:
        judge(pair, METADATA)

A case is asked at every version that can say it, on every listener of its table; every table has the malformed frames
of `_malformed` besides. What must differ (ids, ports, times) is named, not removed: a topic's id reads `<id of orders>`
on both sides.
"""

from __future__ import annotations

import json
import socket
import struct
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.parts.api_table import served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, api, request_header_version
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.schema import Message

CLOSED: Final = "the connection was closed"
SILENT: Final = "no answer"
GONE: Final = "nobody listens any more"
PATIENCE_S: Final = 30.0
"""Nobody's answer is measured by it; a case that is to have none says so with `silent_s`."""
VOLATILE: Final = {
    "brokerEpoch", "throttleTimeMs", "finalizedFeaturesEpoch", "highWatermark", "logEndOffset", "lastFetchTimestamp",
    "lastCaughtUpTimestamp", "producerId", "producerIdStart", "usableBytes", "sessionId",
}  # fmt: skip
"""Numbers that are no two nodes' same; -1 and 0 are told apart from the rest."""
DEVIATIONS: Final = Path(__file__).parents[3] / "docs" / "deviations.md"
LONGEST_LINE: Final = 300
CORRELATION_ID: Final = 7
A_TAG: Final = bytes((99, 1, 7))
"""Tag 99, one byte: 7. No message has it."""

Body = Message | bytes
Version = int


@dataclass(slots=True)
class Side:
    """One of the two nodes: where it listens, what is known of it, and a connection to each listener."""

    name: Literal["java", "ours"]
    ports: Mapping[ListenerType, int]
    cluster_id: str
    topic_ids: dict[str, Uuid] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    """Answers that later cases build on, by the name that a case gives them (`Case.keep`)."""
    named: dict[Any, str] = field(default_factory=dict)
    """Values of this side alone, by what they are called in a comparison."""
    source: str = "127.0.0.1"
    """The address that it is asked from: ACLs may name it."""
    _open: dict[ListenerType, socket.socket] = field(default_factory=dict)

    def ask(self, role: ListenerType, frame: bytes, wait_s: float = PATIENCE_S) -> bytes | str:
        """The answer without its length, or CLOSED or SILENT. `frame` has no length either."""
        connection = self._open.get(role)
        if connection is not None and _has_ended(connection):
            self._forget(role)  # nobody asked for ten minutes (connections.max.idle.ms)
            connection = None
        try:
            if connection is None:
                connection = self._open[role] = socket.create_connection(
                    ("127.0.0.1", self.ports[role]), source_address=(self.source, 0)
                )
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(wait_s)
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            (size,) = struct.unpack(">i", _exactly(connection, 4))
            return _exactly(connection, size)
        except TimeoutError:
            self._forget(role)
            return SILENT
        except ConnectionRefusedError:
            return GONE
        except OSError:
            self._forget(role)
            return CLOSED

    def call(self, role: ListenerType, message: Message, version: int) -> Any:
        """A request of the test itself, that must be answered."""
        assert message.KEY is not None
        answer = self.ask(role, _header(message.KEY, version) + encode(message, version))
        assert isinstance(answer, bytes), f"{self.name}: {type(message).__name__}: {answer}"
        return decode_response(answer, message.KEY, version).body

    def learn_topics(self) -> set[str]:
        """Ask for the ids of all topics; the names that the broker knows."""
        found: MetadataResponse = self.call(ListenerType.BROKER, MetadataRequest(topics=None), 12)
        for topic in found.topics:
            assert topic.name is not None
            self.topic_ids[topic.name] = topic.topic_id
            self.named[str(topic.topic_id)] = f"<id of {topic.name}>"
        return {topic.name for topic in found.topics if topic.name is not None}

    def close(self) -> None:
        for role in list(self._open):
            self._forget(role)

    def _forget(self, role: ListenerType) -> None:
        self._open.pop(role).close()


def _has_ended(connection: socket.socket) -> bool:
    """Its peer closed it, between two requests."""
    connection.setblocking(False)  # with a timeout set, recv waits for it whatever its flags say
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@dataclass(frozen=True, slots=True)
class Pair:
    """An Apache Kafka and a node of ours that were told the same things since they were formatted."""

    java: Side
    ours: Side

    @property
    def sides(self) -> tuple[Side, Side]:
        return (self.java, self.ours)


@dataclass(frozen=True, slots=True)
class Case:
    """One request. `body` is its message, or its bytes, or a function of the side (ids and epochs differ)."""

    name: str
    body: Body | Callable[[Side], Body]
    versions: range | tuple[int, ...] | None = None
    """None: every version that can say it."""
    mangle: Callable[[bytes], bytes] | None = None
    """Changes the encoded body."""
    keep: str = ""
    silent_s: float = 0.0
    """The request has no answer, or only after a long wait: this long nothing comes from either side."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """A difference on purpose. `cases` is a pattern over "listener vN: name"; it must match answers that differ."""

    cases: str
    reason: str
    """A phrase of docs/deviations.md."""
    fields: tuple[str, ...] = ()
    """JSON names that may differ; the rest of the answer is compared. Without any the whole answer may."""


@dataclass(frozen=True, slots=True)
class Table:
    """What one API is asked."""

    key: ApiKey
    listeners: tuple[ListenerType, ...]
    cases: tuple[Case, ...]
    unlike: tuple[Unlike, ...] = ()
    texts: bool = True
    """Whether the words of error messages are compared; else only whether there are some."""
    in_order: tuple[str, ...] = ()
    """JSON names of lists whose order counts; in others it is a hash map's."""
    malformed: bool = True

    def asked(self) -> Iterator[Asked]:
        """Everything that is asked, in order: a case on every listener and version before the next."""
        for case in self.cases:
            for role in self.listeners:
                known = served(role)[self.key]
                yield from (
                    Asked(case, role, version)
                    for version in case.versions or known
                    if case.versions is not None or _can_be_said(case.body, version)
                )
        if self.malformed:
            for role in self.listeners:
                yield from (Asked(*each) for each in _malformed(self.cases[0], self.key, role))


@dataclass(frozen=True, slots=True)
class Asked:
    case: Case
    role: ListenerType
    version: int

    def __str__(self) -> str:
        return f"{self.role} v{self.version}: {self.case.name}"


@dataclass(frozen=True, slots=True)
class Difference:
    asked: Asked
    java: Any
    ours: Any

    @property
    def places(self) -> tuple[str, ...]:
        """Where the answers differ, a line each."""
        return tuple(places_that_differ(self.java, self.ours, "answer"))


def judge(pair: Pair, table: Table) -> int:
    """Ask everything of both; fail with what differs and is not named, and with what is named and does not. How many
    were asked.
    """
    asked = list(table.asked())
    found: list[Difference] = []
    for one in asked:
        differs = _put(pair, table, one)
        found += [differs] if differs is not None else []
        if differs is not None and GONE in (differs.java, differs.ours):
            break
    known = DEVIATIONS.read_text().replace("\n", " ")
    missing = [each.reason for each in table.unlike if each.reason not in known]
    assert not missing, f"docs/deviations.md has no such words: {missing}"
    for expected in table.unlike:
        mine = [each for each in found if fnmatchcase(str(each.asked), expected.cases)]
        assert mine, f"{table.key.name}: {expected.cases!r} no longer differs: {expected.reason}"
    rest = [each for each in (_unexpected(each, table.unlike) for each in found) if each is not None]
    assert not rest, f"{table.key.name}: {len(rest)} of {len(asked)} answers differ:\n{_told(rest)}"
    return len(asked)


def ask_both(pair: Pair, table: Table, one: Asked) -> tuple[Any, Any]:
    """(Java's answer, ours), as they are compared."""
    java, ours = (_answer(side, table, one) for side in pair.sides)
    return java, ours


def _put(pair: Pair, table: Table, one: Asked) -> Difference | None:
    java, ours = ask_both(pair, table, one)
    return None if java == ours else Difference(one, java, ours)


def _answer(side: Side, table: Table, one: Asked) -> Any:
    case = one.case
    body = case.body(side) if callable(case.body) else case.body
    data = body if isinstance(body, bytes) else encode(body, _sayable(table.key, one))
    if case.mangle is not None:
        data = case.mangle(data)
    answer = side.ask(one.role, _header(table.key, one.version) + data, case.silent_s or PATIENCE_S)
    if isinstance(answer, str):
        return answer
    try:
        read = decode_response(answer, table.key, one.version)
    except ProtocolError as error:
        return f"unreadable: {error}: {answer.hex()}"
    if read.header.correlation_id != CORRELATION_ID:
        return f"the answer to request {read.header.correlation_id}"
    response = read.body
    if case.keep:
        side.kept[case.keep] = response
    refused_versions = table.key == ApiKey.API_VERSIONS and one.version not in api(table.key).versions
    shown = json.loads(json.dumps(to_json(response, 0 if refused_versions else one.version)))
    return _comparable(shown, side, table, "")


def _comparable(value: Any, side: Side, table: Table, key: str) -> Any:
    """With what differs between any two nodes by its name."""
    if isinstance(value, dict):
        return {name: _comparable(each, side, table, name) for name, each in value.items()}
    if isinstance(value, list):
        shown = [_comparable(each, side, table, key) for each in value]
        return shown if key in table.in_order else sorted(shown, key=lambda each: json.dumps(each, sort_keys=True))
    if key in VOLATILE and isinstance(value, int):
        return value if value <= 0 else f"<{key}>"
    if key == "responseData" and value:
        return _inner(b64decode(value), side, table)
    if key == "errorMessage" and not table.texts:
        return None if value is None else "<some words>"
    if key == "topicId" and value != str(ZERO_UUID):
        return side.named.get(value, "<an id>")
    if isinstance(value, str):
        for own, name in side.named.items():
            value = value.replace(str(own), name)
        return value
    return side.named.get(value, value) if key == "port" else value


def _inner(frame: bytes, side: Side, table: Table) -> Any:
    """What an envelope holds: its answer's correlation id, and its bytes with what differs blanked."""
    return [frame[:4].hex(), len(frame)]


def _unexpected(found: Difference, unlike: tuple[Unlike, ...]) -> Difference | None:
    """The difference without what is on purpose; None when nothing is left."""
    for expected in unlike:
        if fnmatchcase(str(found.asked), expected.cases):
            if not expected.fields:
                return None
            found = replace(
                found, java=_without(found.java, expected.fields), ours=_without(found.ours, expected.fields)
            )
    return None if found.java == found.ours else found


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {name: _without(each, names) for name, each in value.items() if name not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value


def _malformed(base: Case, key: ApiKey, role: ListenerType) -> Iterator[tuple[Case, ListenerType, int]]:
    """Frames of nobody's encoder, at every version: cut, too long, with tags that nobody knows. And versions that
    nobody serves.
    """
    known = served(role)[key]
    for version in known:
        if not _can_be_said(base.body, version):
            continue
        yield Case("ends a byte early", base.body, mangle=lambda data: data[:-1]), role, version
        yield Case("no body at all", base.body, mangle=lambda data: b""), role, version
        yield Case("a byte too many", base.body, mangle=lambda data: data + b"\0"), role, version
        if request_header_version(key, version) == 2:
            yield Case("a tag that nobody knows", base.body, mangle=_with_tags(A_TAG)), role, version
            yield Case("the same tag twice", base.body, mangle=_with_tags(A_TAG + A_TAG)), role, version
            yield Case("a tag longer than the frame", base.body, mangle=_with_tags(bytes((99, 9, 7)))), role, version
    for version in (known.lowest - 1, known.highest + 1, 32767, -1):
        yield Case("a version that is not served", base.body), role, version


def _with_tags(tags: bytes) -> Callable[[bytes], bytes]:
    """In place of the empty tag section at the end of a body."""
    count = len(tags) // 3
    return lambda data: data[:-1] + bytes((count,)) + tags


def _can_be_said(body: Body | Callable[[Side], Body], version: int) -> bool:
    if not isinstance(body, Message):
        return True
    try:
        encode(body, version)
    except ProtocolError:
        return False
    return True


def _sayable(key: ApiKey, one: Asked) -> int:
    """The version at which a body is written: the nearest one, for a version that does not exist."""
    known = api(key).versions
    return max(known.lowest, min(one.version, known.highest))


def _header(key: int, version: int, correlation_id: int = CORRELATION_ID, client_id: bytes = b"differential") -> bytes:
    head = struct.pack(">hhih", key, version, correlation_id, len(client_id)) + client_id
    return head + b"\0" if request_header_version(key, version) == 2 else head


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise ConnectionError
        data += piece
    return data


def _told(found: list[Difference]) -> str:
    """The differences, those that many versions share once."""
    where: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in found:
        where.setdefault((each.asked.case.name, each.places), []).append(f"{each.asked.role} v{each.asked.version}")
    return "\n".join(
        f"{name} ({', '.join(asked)})\n" + "\n".join(f"    {place}" for place in places)
        for (name, places), asked in where.items()
    )


def places_that_differ(java: Any, ours: Any, path: str) -> Iterator[str]:
    if isinstance(java, dict) and isinstance(ours, dict) and java.keys() == ours.keys():
        for name in java:
            yield from places_that_differ(java[name], ours[name], f"{path}.{name}")
    elif isinstance(java, list) and isinstance(ours, list) and len(java) == len(ours):
        for at, (his, mine) in enumerate(zip(java, ours, strict=True)):
            yield from places_that_differ(his, mine, f"{path}[{at}]")
    elif java != ours:
        yield f"{path}: java {_line(java)}, ours {_line(ours)}"


def _line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < LONGEST_LINE else f"{text[:LONGEST_LINE]}… ({len(text)} characters)"
