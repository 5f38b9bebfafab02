"""All hostile clients, in the order in which they are let loose; the heavy ones are among the others, as in life."""

from __future__ import annotations

from controller_runtime.protocol.api_keys import ListenerType
from support.hostile.case import Case
from support.hostile.cases import framing, quorum, records, topics


def pack() -> list[Case]:
    made = [*framing.cases(), *topics.cases(), *records.cases(), *quorum.cases()]
    names = [case.name for case in made]
    assert len(names) == len(set(names)), "a case's name is how it is found again"
    return made


def asked_of(role: ListenerType) -> list[Case]:
    return [case for case in pack() if role in case.listeners]
