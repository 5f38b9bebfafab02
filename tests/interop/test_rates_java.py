"""How long a client has to wait is what Apache Kafka's own measure of rates says: questions of chance (SEC-10)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

from controller_runtime.parts.sampled_rate import SampledRate
from support.apache_kafka.java_kafka import JVM_FLAGS, require_java
from support.sampling import run_seed

pytestmark = pytest.mark.interop

SOURCE: Final = Path(__file__).parents[1] / "support" / "apache_kafka" / "MeasuredRates.java"


def stories(rng: Random) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """How a rate is measured and bounded, and what happens when."""
    for _ in range(60):
        samples, seconds, bound = rng.choice((2, 3, 11)), rng.choice((1, 1, 2)), rng.choice((1, 100, 4096))
        at, events = rng.randrange(10**12), []
        for _ in range(rng.randrange(1, 80)):
            at += rng.choice((0, 1, rng.randrange(50), rng.randrange(1000), 1000, rng.randrange(30_000)))
            events.append((rng.randrange(4 * bound), at))
        yield f"{samples} {seconds} {bound}", events


def test_whoever_is_too_fast_waits_as_long_as_javas_client() -> None:
    told = list(stories(Random(run_seed())))
    lines = [line for head, events in told for line in (f"new {head}", *(f"{amount} {at}" for amount, at in events))]
    ours = []
    for head, events in told:
        samples, seconds, bound = map(int, head.split())
        rate = SampledRate(samples, seconds * 1000)
        for amount, at in events:
            rate.record(amount, at)
            ours.append(rate.wait_ms(bound, at))
    assert ours == _ask_java(lines)
    assert len(set(ours)) > 100


def _ask_java(lines: list[str]) -> list[int]:
    done = subprocess.run(
        ["java", *JVM_FLAGS, "-cp", require_java(), str(SOURCE)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [int(line.removeprefix("answer ")) for line in done.stdout.splitlines() if line.startswith("answer ")]
