"""The assignors of groups of the consumer protocol beside Apache Kafka's own classes, over random groups that change:
the same partitions for the same members.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

from controller_runtime.coordinator.consumer.assignors import ranges, uniform
from controller_runtime.coordinator.consumer.assignors.spec import Reader, Spec
from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.identifiers import Uuid
from support.apache_kafka.java_kafka import JVM_FLAGS, require_java

pytestmark = pytest.mark.interop

SOURCE: Final = Path(__file__).parents[1] / "support" / "apache_kafka" / "AssignorAnswers.java"
GROUPS: Final = 2_000


def uuid(number: int) -> Uuid:
    return Uuid.of(1, number)


@dataclass(frozen=True)
class Asked:
    assignor: str
    counts: tuple[int, ...]
    members: dict[str, tuple[str | None, tuple[int, ...], dict[int, tuple[int, ...]]]]
    """Instance, topics, and what it had."""

    @property
    def is_homogeneous(self) -> bool:
        return len({frozenset(topics) for _, topics, _ in self.members.values()}) == 1

    def line(self) -> str:
        words = [self.assignor, str(int(self.is_homogeneous)), ",".join(map(str, self.counts))]
        for name, (instance, topics, before) in self.members.items():
            had = ",".join(f"{topic}:{'.'.join(map(str, indexes))}" for topic, indexes in before.items())
            words.append(f"{name}/{instance or '-'}/{','.join(map(str, topics))}/{had}")
        return " ".join(words)

    def ours(self, names: list[str], topics: list[int]) -> dict[str, Target]:
        """In Java's order: who comes first gets what is left over."""
        readers = {}
        for name in names:
            instance, wanted, before = self.members[name]
            had = {uuid(topic): frozenset(indexes) for topic, indexes in before.items()}
            readers[name] = Reader(instance, tuple(uuid(each) for each in topics if each in wanted), had)
        spec = Spec(readers, {uuid(topic): self.counts[topic] for topic in topics}, self.is_homogeneous)
        assign = ranges.assign if self.assignor == "range" else uniform.assign
        return next(each for each in assign(spec) if each is not None)


def random_group(dice: Random) -> Asked:
    """As an earlier assignment has left it: some members have gone, some have come, some read other topics."""
    counts = tuple(dice.randrange(1, 14) for _ in range(dice.randrange(1, 6)))
    names = [f"member-{dice.randrange(10**9)}" for _ in range(dice.randrange(1, 10))]
    free = [(topic, index) for topic, count in enumerate(counts) for index in range(count)]
    dice.shuffle(free)
    is_equal, everything = dice.random() < 0.5, tuple(range(len(counts)))
    members: dict[str, tuple[str | None, tuple[int, ...], dict[int, tuple[int, ...]]]] = {}
    for place, name in enumerate(names):
        topics = everything if is_equal else tuple(sorted(dice.sample(everything, dice.randrange(1, len(counts) + 1))))
        before: dict[int, tuple[int, ...]] = {}
        if dice.random() < 0.8:
            some = [free.pop() for _ in range(min(len(free), dice.randrange(0, 12)))]
            for topic in sorted({topic for topic, _ in some}):
                before[topic] = tuple(sorted(index for each, index in some if each == topic))
        instance = f"instance-{place}" if dice.random() < 0.3 else None
        members[name] = instance, topics, before
    return Asked(dice.choice(("uniform", "uniform", "range")), counts, members)


def read(text: str) -> tuple[list[str], list[int], dict[str, Target]]:
    names, topics, *given = text.split(" ")
    found: dict[str, Target] = {}
    for each in given:
        name, _, parts = each.partition("/")
        targets = (part.split(":") for part in parts.split(",") if part)
        found[name] = {uuid(int(topic)): frozenset(map(int, indexes.split("."))) for topic, indexes in targets}
    return names.split(","), [int(each) for each in topics.split(",")], found


def test_members_get_what_they_get_by_java_s_assignors() -> None:
    """CGP-11, CGP-12, CGP-13"""
    dice = Random(848)
    asked = [random_group(dice) for _ in range(GROUPS)]
    done = subprocess.run(
        ["java", *JVM_FLAGS, "-cp", require_java(), str(SOURCE)],
        input="\n".join(each.line() for each in asked) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    answers = done.stdout.splitlines()
    assert len(answers) == GROUPS, done.stderr[-2_000:]
    for each, answer in zip(asked, answers, strict=True):
        names, topics, java = read(answer)
        assert each.ours(names, topics) == java, each.line()
