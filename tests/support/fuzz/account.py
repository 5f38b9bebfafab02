"""What was sent and what came of it, by API and version: the coverage that is printed.

"Decoded" are frames that were answered, held or silent: they got past the decoder to a handler. A sample of the answers
is read, for the errors that they carry; an answer that cannot be read is a finding.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from controller_runtime.parts.api_table import served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, find_api, response_class
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.schema import Struct
from support.fuzz.lanes import Outcome
from support.fuzz.shots import Shot, named

READ_ONE_OF: Final = 8
PAST_DECODING: Final = (Outcome.ANSWERED, Outcome.HELD, Outcome.SILENT)
MAX_READ_BYTES: Final = 100_000


@dataclass
class Account:
    read_one_of: int = READ_ONE_OF
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    sent: set[tuple[ListenerType, int, int]] = field(default_factory=set)
    decoded: set[tuple[ListenerType, int, int]] = field(default_factory=set)
    errors: dict[int, set[int]] = field(default_factory=dict)
    """By API key: the error codes that were seen in answers."""
    unreadable: list[str] = field(default_factory=list)

    def add(self, shot: Shot, outcome: Outcome, answer: bytes) -> None:
        self.outcomes[outcome] += 1
        what = (shot.target.role, shot.key, shot.version)
        self.sent.add(what)
        if outcome in PAST_DECODING and shot.is_frame:
            self.decoded.add(what)
        if answer and shot.number % self.read_one_of == 0 and len(answer) < MAX_READ_BYTES:
            self._read(shot, answer)

    def _read(self, shot: Shot, answer: bytes) -> None:
        found = find_api(shot.key)
        if (
            found is None
            or not found.lowest <= shot.version <= found.highest
            or int.from_bytes(answer[:4], "big") != shot.number
        ):
            return  # nobody can say which version it has, or whose it is
        try:
            body = decode_response(answer, shot.key, shot.version).body
        except ProtocolError as error:
            self.unreadable.append(f"the answer to {named(shot)} cannot be read: {error}")
            return
        seen = self.errors.setdefault(shot.key, set())
        errors_in(body, seen)

    @property
    def total(self) -> int:
        return sum(self.outcomes.values())

    def sentences(self) -> list[str]:
        pairs = {
            (role, int(key), version)
            for role in ListenerType
            for key, versions in served(role).items()
            for version in versions
        }
        kinds = sum(len(codes) for codes in self.errors.values())
        unseen = sorted(pairs - self.decoded)
        told = ", ".join(f"{role} {ApiKey(key).name} v{version}" for role, key, version in unseen[:8])
        lines = [
            f"{self.total:,} frames: "
            + ", ".join(f"{self.outcomes[each]:,} {each}" for each in Outcome if self.outcomes[each]),
            (
                f"of {len(pairs)} pairs of API and version served, {len(pairs & self.sent)} were "
                f"sent, {len(pairs & self.decoded)} reached their handler; {len(self.errors)} APIs "
                f"answered with {kinds} kinds of errors"
            ),
        ]
        return lines + ([f"never past decoding: {told}{', ...' if len(unseen) > 8 else ''}"] if unseen else [])

    def errors_told(self) -> list[str]:
        """For people who ask which answers were reached."""
        return [
            f"{response_class(key).__name__}: {', '.join(_name(code) for code in sorted(codes))}"
            for key, codes in sorted(self.errors.items())
        ]


def _name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


def errors_in(value: Any, seen: set[int]) -> None:
    if isinstance(value, Struct):
        for spec in value.FIELDS:
            if spec.name == "error_code":
                seen.add(value.error_code)  # type: ignore[attr-defined]
            elif spec.array or spec.struct is not None:
                errors_in(getattr(value, spec.name), seen)
    elif isinstance(value, tuple):
        for each in value[:20]:
            errors_in(each, seen)
