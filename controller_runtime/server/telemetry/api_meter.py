"""What each API is asked, answers with and costs: requests by version, errors, processor time.

The rows are those of `parts.api_table`, made once: whatever others send, there is no other label. Requests and errors
are always counted. Processor time is that of the one thread that decides, and is counted while somebody looks (see
`measuring`): reading a request and writing its answer, deciding it, what partitions bring back for it, and the pieces
of a decision that takes long. What a disk's thread does is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.parts.api_table import served
from controller_runtime.parts.effects import Inside
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.api_keys import ListenerType, api
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.schema import Message, Struct, Versions
from controller_runtime.values import dataclass

OTHER: Final = "other"
"""A version or an error that is in no table of ours."""
_NAMES: Final = {int(code): code.name for code in ErrorCode}


class ApiRow:
    """One API on one role."""

    __slots__ = ("_by_version", "errors", "key", "name", "others", "seconds")

    def __init__(self, key: int, name: str, versions: Versions) -> None:
        self.key = key
        self.name = name
        self._by_version = dict.fromkeys(range(versions.lowest, versions.highest + 1), 0)
        self.others = 0
        """Requests of versions that are not served."""
        self.errors: dict[str, int] = {}
        self.seconds = 0.0

    @property
    def requests(self) -> dict[str, int]:
        """By version. The highest is there from the start: an increase is only seen by who saw the 0."""
        highest = max(self._by_version)
        counts = {str(version): count for version, count in self._by_version.items() if count or version == highest}
        return counts | {OTHER: self.others} if self.others else counts

    def received(self, version: int) -> None:
        if version in self._by_version:
            self._by_version[version] += 1
        else:
            self.others += 1

    def answered(self, body: Message) -> None:
        found: list[int] = []
        plan = _plans.get(type(body))
        _collect(body, _plan(type(body)) if plan is None else plan, found)
        for code in found:
            name = _NAMES.get(code, OTHER)
            self.errors[name] = self.errors.get(name, 0) + 1


@dataclass(frozen=True, slots=True)
class ApiFacts:
    """An `ApiRow` at one moment."""

    api: str
    role: str
    requests: Mapping[str, int]
    errors: Mapping[str, int]
    seconds: float


class ApiMeter:
    """All rows of a process: of the roles that it has listeners for."""

    def __init__(self, roles: Mapping[str, ListenerType]) -> None:
        self._rows = {
            role: {int(key): ApiRow(key, api(key).name, versions) for key, versions in served(role).items()}
            for role in ListenerType
            if role in roles.values()
        }
        self._of_listener = {listener: self._rows[role] for listener, role in roles.items()}
        self.watching = False
        """Whoever marks and charges asks first: nobody may look."""
        self._mark = 0.0
        self._spent: dict[RequestId, float] = {}

    def row(self, listener: str, key: int) -> ApiRow:
        """Of what the listener serves."""
        return self._of_listener[listener][key]

    def forwarded(self, listener: str, inside: Inside) -> None:
        """A request that came in an Envelope is counted when it is answered, like one that came by itself. The broker
        that sent it counts it too, but not its errors: it does not read the answer.
        """
        row = self.row(listener, inside.header.request_api_key)
        row.received(inside.header.request_api_version)
        row.answered(inside.answer)

    def facts(self) -> tuple[ApiFacts, ...]:
        return tuple(
            ApiFacts(row.name, role.value, dict(row.requests), dict(row.errors), row.seconds)
            for role, rows in self._rows.items()
            for row in rows.values()
        )

    # Processor time. A mark is set, and what passed since belongs to whoever is named next.

    def mark(self) -> None:
        self._mark = time.thread_time()

    def charge(self, row: ApiRow | None, request_id: RequestId | None = None) -> None:
        """None: it was nobody's."""
        before, self._mark = self._mark, time.thread_time()
        if row is not None:
            row.seconds += self._mark - before
        if request_id in self._spent:
            self._spent[request_id] += self._mark - before

    def weigh(self, request_id: RequestId) -> None:
        """What this request takes is kept, from the last mark on, until it is asked for."""
        self._spent[request_id] = 0.0

    def spent(self, request_id: RequestId) -> float | None:
        """In seconds, until now; None for one that is not weighed."""
        found = self._spent.pop(request_id, None)
        return None if found is None else found + time.thread_time() - self._mark

    def heard(self, event: object) -> None:
        """A node has heard an event."""
        self.charge(self._row_of(event), getattr(event, "request_id", None))

    def worked_on(self, key: int | None) -> None:
        """A controller has polled its parts, and worked on a decision of this API."""
        rows = self._rows.get(ListenerType.CONTROLLER)
        self.charge(None if key is None or rows is None else rows.get(key))

    def _row_of(self, event: object) -> ApiRow | None:
        key = getattr(event, "api_key", None)
        if key is None:
            return None
        connection = getattr(event, "connection", None)
        rows = self._rows.get(ListenerType.BROKER) if connection is None else self._of_listener[connection.listener]
        return None if rows is None else rows.get(key)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where in a struct errors may stand."""

    codes: tuple[str, ...]
    arrays: tuple[tuple[str, _Plan], ...]
    """And structs: both have a plan of their own."""

    def __bool__(self) -> bool:
        return bool(self.codes or self.arrays)


_plans: dict[type[Struct], _Plan] = {}


def _plan(struct: type[Struct]) -> _Plan:
    found = _plans.get(struct)
    if found is None:
        codes = tuple(spec.name for spec in struct.FIELDS if spec.kind == "int16" and spec.name == "error_code")
        found = _plans[struct] = _Plan(codes, tuple(_inner(struct)))
    return found


def _inner(struct: type[Struct]) -> Iterator[tuple[str, _Plan]]:
    for spec in struct.FIELDS:
        if spec.struct is not None and (plan := _plan(spec.struct)):
            yield spec.name, plan


def _collect(struct: Struct, plan: _Plan, found: list[int]) -> None:
    for name in plan.codes:
        if code := getattr(struct, name):
            found.append(code)
    for name, inner in plan.arrays:
        value = getattr(struct, name)
        each: Struct
        for each in (value,) if isinstance(value, Struct) else value or ():
            if inner.arrays:
                _collect(each, inner, found)
            else:
                found += [code for name in inner.codes if (code := getattr(each, name))]
