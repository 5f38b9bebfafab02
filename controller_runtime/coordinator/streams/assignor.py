"""Who of a streams group processes which task, and keeps which state at hand: the sticky assignor of Apache Kafka.

Members keep the tasks that they have as long as nobody has too many; what is left goes to the process that has the
least for its members, and there to the member that has the least. A standby is never on the process of its active task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

from controller_runtime.coordinator.java_texts import text_order
from controller_runtime.coordinator.streams.configuring import ConfiguredSubtopology
from controller_runtime.coordinator.streams.java_order import Heap, hash_order
from controller_runtime.coordinator.streams.members import NO_TASKS, Target
from controller_runtime.values import dataclass


class Task(NamedTuple):
    partition: int
    place: int
    """Of the subtopology, in Java's order."""
    subtopology: str


class Someone(NamedTuple):
    process_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class Spec:
    processes: Mapping[str, str]
    """Of each member."""
    before: Mapping[str, Target]
    subtopologies: Mapping[str, ConfiguredSubtopology]
    standbys: int


@dataclass(slots=True)
class _Load:
    member_id: str
    tasks: int


class _Process:
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        """Tasks of each member."""
        self.load = inf
        self.tasks: set[Task] = set()
        self.active: dict[str, set[Task]] = {}
        self.standby: dict[str, set[Task]] = {}
        self._total = 0
        self._by_load: Heap[_Load] | None = None

    def join(self, member_id: str) -> None:
        self.counts[member_id] = 0
        self._weigh()

    def give(self, member_id: str, task: Task, *, active: bool) -> int:
        """How many tasks it has then."""
        found = self._give(member_id, task, active=active)
        self._by_load = None
        return found

    def give_to_least(self, task: Task, *, active: bool) -> int:
        if len(self.counts) == 1:
            return self._give(next(iter(self.counts)), task, active=active)
        if self._by_load is None:
            loads = (_Load(each, self.counts[each]) for each in hash_order(self.counts))
            self._by_load = Heap(loads, lambda load: load.tasks)
        least = self._by_load.take()
        least.tasks = self._give(least.member_id, task, active=active)
        self._by_load.add(least)
        return least.tasks

    def _give(self, member_id: str, task: Task, *, active: bool) -> int:
        self._total += 1
        self.tasks.add(task)
        (self.active if active else self.standby).setdefault(member_id, set()).add(task)
        self.counts[member_id] += 1
        self._weigh()
        return self.counts[member_id]

    def _weigh(self) -> None:
        self.load = self._total / len(self.counts)


class _Quota:
    """As even a share as can be: whoever has it makes that of the others anew."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.each = self._share()

    def _share(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0

    def took(self, count: int) -> None:
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = self._share()


class _Assigning:
    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.order: Final = sorted(spec.subtopologies, key=text_order)
        active = [Task(index, at, name) for at, name in enumerate(self.order) for index in self._indexes(name)]
        stateful = [each for each in active if spec.subtopologies[each.subtopology].changelogs]
        self.active, self.stateful = active, stateful
        count = len(spec.processes)
        self.share = _Quota(len(active), count)
        self.whole = _Quota(len(active) + len(stateful) * spec.standbys, count)
        self.processes: dict[str, _Process] = {}
        self.was_active: dict[Task, Someone] = {}
        self.was_standby: dict[Task, list[Someone]] = {}
        places = {name: at for at, name in enumerate(self.order)}
        for member_id in hash_order(spec.processes):
            someone = Someone(spec.processes[member_id], member_id)
            self.processes.setdefault(someone.process_id, _Process()).join(member_id)
            before = spec.before.get(member_id, NO_TASKS)
            for name, indexes in before.active.items():
                for index in indexes if name in places else ():
                    self.was_active[Task(index, places[name], name)] = someone
            for name, indexes in before.standby.items():
                for index in indexes if name in places else ():
                    self.was_standby.setdefault(Task(index, places[name], name), []).append(someone)
        ids = hash_order(self.processes, count)
        self.processes = {each: self.processes[each] for each in ids}

    def _indexes(self, name: str) -> range:
        return range(self.spec.subtopologies[name].tasks)

    def assign_active(self) -> None:
        left: list[Task] = []
        for task in sorted(self.active):
            if not self._kept_active(task, self.was_active.get(task)):
                left.append(task)
        still: list[Task] = []
        for task in left:
            if not self._kept_active(task, self._least(self.was_standby.get(task, ()), None)):
                still.append(task)
        heap = Heap(self.processes.values(), lambda each: each.load)
        for task in sorted(still, key=lambda each: (each.place, each.partition)):
            process = heap.take()
            self._took(process.give_to_least(task, active=True))
            heap.add(process)

    def _kept_active(self, task: Task, someone: Someone | None) -> bool:
        process = None if someone is None else self.processes[someone.process_id]
        if process is None or someone is None or process.counts[someone.member_id] >= self.share.each:
            return False
        self._took(process.give(someone.member_id, task, active=True))
        return True

    def _took(self, count: int) -> None:
        self.share.took(count)
        self.whole.took(count)

    def _least(self, known: Sequence[Someone], task: Task | None) -> Someone | None:
        """Of those that had it; as in Kafka, if the first one's process has it now, nobody."""
        if not known:
            return None
        found = known[0]
        first = self.processes[found.process_id]
        load, count = first.load, first.counts[found.member_id]
        for someone in known[1:]:
            process = self.processes[someone.process_id]
            has = process.counts[someone.member_id]
            is_free = task is None or task not in process.tasks
            if process.load < load and is_free and has < count:
                found, load, count = someone, process.load, has
        return None if task is not None and task in first.tasks else found

    def assign_standbys(self) -> None:
        left: list[tuple[Task, int]] = []
        for task in sorted(self.stateful, reverse=True):
            open_ones = self.spec.standbys
            while open_ones and self._kept_standby(task):
                open_ones -= 1
            left.append((task, open_ones))
        heap = Heap(self.processes.values(), lambda each: each.load)
        for task, count in sorted(left, key=lambda each: (each[0].place, each[0].partition), reverse=True):
            for _ in range(count):
                if not self._given_to_least(heap, task):
                    break

    def _kept_standby(self, task: Task) -> bool:
        was = self.was_active.get(task)
        if was is not None:
            process = self.processes[was.process_id]
            if task not in process.tasks and process.counts[was.member_id] < self.whole.each:
                self.whole.took(process.give(was.member_id, task, active=False))
                return True
        found = self._least(self.was_standby.get(task, ()), task)
        if found is None or self.processes[found.process_id].counts[found.member_id] >= self.whole.each:
            return False
        self.whole.took(self.processes[found.process_id].give(found.member_id, task, active=False))
        return True

    def _given_to_least(self, heap: Heap[_Process], task: Task) -> bool:
        """To the lightest process that does not have it yet."""
        passed: list[_Process] = []
        is_given = False
        while heap and not is_given:
            process = heap.take()
            passed.append(process)
            if task not in process.tasks:
                self.whole.took(process.give_to_least(task, active=False))
                is_given = True
        for process in reversed(passed):
            heap.add(process)
        return is_given

    def found(self) -> dict[str, Target]:
        out: dict[str, Target] = {}
        for process in self.processes.values():
            for each in process.counts:
                out[each] = Target(_tasks(process.active.get(each)), _tasks(process.standby.get(each)))
        return out


def _tasks(tasks: set[Task] | None) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for each in sorted(tasks or ()):
        found.setdefault(each.subtopology, set()).add(each.partition)
    return {name: frozenset(found[name]) for name in sorted(found)}


def assign(spec: Spec) -> dict[str, Target]:
    """The tasks of every member."""
    assigning = _Assigning(spec)
    if not spec.processes:
        return {}
    assigning.assign_active()
    if spec.standbys > 0:
        assigning.assign_standbys()
    return assigning.found()
