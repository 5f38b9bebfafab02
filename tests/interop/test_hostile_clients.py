"""Clients that mean harm, let loose at a node of ours and at an Apache Kafka: what they get is right, and everybody
else is served as before.

Ours passes every case at both listeners. Of Apache Kafka a run asks a sample (all in a soak); what came of each case is
in `hostile_clients.txt`, which `QUORATE_SOAK=1 pytest tests/interop/test_hostile_clients.py --rewrite` writes anew.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from controller_runtime.protocol.api_keys import ListenerType
from support.hostile.case import Case
from support.hostile.field import Field, Javas, Ours, ports_of
from support.hostile.pack import asked_of

pytestmark = pytest.mark.interop
SOAK: Final = bool(os.environ.get("QUORATE_SOAK"))
WHILE_BUSY: Final = 8
"""How often Apache Kafka is asked again what it has answered before, in a fuller run."""
SAMPLE: Final = 10
"""Cases of a run that Apache Kafka's broker is asked, and its controller."""
TABLE: Final = Path(__file__).with_name("hostile_clients.txt")
PASSES: Final = "passes"


def verdicts(field: Field, role: ListenerType, cases: list[Case]) -> dict[str, str]:
    return {f"{role}: {case.name}": field.ask(case, role) for case in cases}


def told(all_of_them: dict[str, str]) -> str:
    """So many of so many, for each listener."""
    counts = []
    for role in ListenerType:
        mine = [verdict for name, verdict in all_of_them.items() if name.startswith(role)]
        counts.append(f"{mine.count(PASSES)} of {len(mine)} at the {role}'s listener")
    return ", ".join(counts)


def failing(all_of_them: dict[str, str]) -> dict[str, str]:
    return {name: verdict for name, verdict in all_of_them.items() if verdict != PASSES}


@pytest.mark.timeout(900)
def test_no_hostile_client_harms_a_node_of_ours(tmp_path: Path, sampled: Callable[[str], None]) -> None:
    (ports,) = ports_of()
    with Field(Ours(tmp_path / "ours", ports), ports) as field:
        found = {
            name: verdict for role in ListenerType for name, verdict in verdicts(field, role, asked_of(role)).items()
        }
    sampled(f"hostile clients that ours withstands: {told(found)}")
    assert failing(found) == {}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_apache_kafka_withstands_what_the_table_says(
    java: str, tmp_path: Path, run_seed: int, rewrite: bool, sampled: Callable[[str], None]
) -> None:
    (ports,) = ports_of()
    chance = random.Random(f"hostile {run_seed}")
    known = dict(line.split(" | ", 1) for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    found: dict[str, str] = {}
    with Field(Javas(tmp_path / "java", ports), ports) as field:
        for role in ListenerType:
            cases = asked_of(role)
            asked = [case for case in cases if f"{role}: {case.name}" in known]
            chosen = cases if SOAK else chance.sample(asked, min(SAMPLE, len(asked)))
            found |= verdicts(field, role, chosen)
            for _ in range(0 if SOAK else WHILE_BUSY):  # with the case before, 100,000 topics for one
                new = set(failing(found)) - set(failing(known))
                found |= verdicts(field, role, [case for case in chosen if f"{role}: {case.name}" in new])
    sampled(f"hostile clients that Apache Kafka withstands (seed {run_seed}): {told(found)}")
    if rewrite and SOAK:
        head = f"# What came of hostile clients at Apache Kafka 4.3.1: it withstands {told(found)}.\n"
        TABLE.write_text(head + "".join(f"{name} | {verdict}\n" for name, verdict in found.items()))
        return
    # What it failed once it may withstand on a machine that is less busy.
    assert set(failing(found)) <= set(failing(known))
