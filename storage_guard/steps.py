"""The three guards, one look each: read everything anew, decide, act if the decision allows it.

`inspect` reports. `look_through_gate` and `look_for_seal` return a report when they are done and a `Hold` when the pod
has to wait; who calls again, and when, is `__main__`'s. Every durable write comes before the report that relies on it,
so a kill at any point leaves a state that the next look understands.

A broker may have further volumes. Each is judged, let through and sealed as if it were the disk of a node of its own,
by its own line of the ledger and its own grant; the pod passes when all of them do, and nothing is written before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem
from storage_guard.facts import Journal, LedgerFacts, Passage, PodFacts, Way
from storage_guard.formats import BadFormat, DiskVerdict, GuardStep, Report, config_hash
from storage_guard.judge import Judgement, judge
from storage_guard.passage import Hold, Sealed, decide, granted_marker, seal
from storage_guard.pod import Environment, Pod
from storage_guard.volume import Volume

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Opening:
    """What lets one volume through."""

    found: Judgement
    passage: Passage
    facts: PodFacts
    journal: Journal


@dataclass(frozen=True, slots=True)
class Guard:
    pod: Pod
    volume: Volume
    further: Mapping[str, Guard] = field(default_factory=dict)
    """Of the node's further volumes, by name."""

    @classmethod
    def of(cls, filesystem: FileSystem, environment: Environment) -> Guard:
        further = {name: cls.of(filesystem, each) for name, each in environment.each_further.items()}
        return cls(Pod(filesystem, environment), Volume(filesystem, environment.log_directory), further)

    def inspect(self) -> Report:
        report = self._inspect()
        return replace(report, volumes={name: each.inspect() for name, each in self.further.items()})

    def _inspect(self) -> Report:
        try:
            facts = self.pod.read()
        except (OSError, BadFormat) as error:
            facts = self.pod.unknown()
            return Judgement(DiskVerdict.UNREADABLE, "CannotRead", str(error) or repr(error)).report(
                GuardStep.INSPECT, facts
            )
        return judge(self.volume.read(), self.pod.read_ledger(), facts).report(GuardStep.INSPECT, facts)

    def look_through_gate(self, *, patient: bool = True) -> Report | Hold:
        """`patient`: wait for the very configuration that the pod's template names; else take the one that
        is mounted.
        """
        try:
            return self._look_through_gate(patient=patient)
        except (OSError, StorageError, BadFormat) as error:
            return Hold("CannotRead", str(error) or repr(error))

    def look_for_seal(self) -> Report | Hold:
        try:
            return self._look_for_seal()
        except (OSError, StorageError, BadFormat) as error:
            return Hold("CannotRead", str(error) or repr(error))

    def inputs(self) -> tuple[object, ...]:
        """What may change while a pod waits, cheap to read: a log is scanned anew only when this did."""
        try:
            ledger = self.pod.read_ledger()
            own = (self.pod.read(), ledger, self.pod.read_rack(ledger), self.pod.read_config())
            return (*own, *(each.inputs() for each in self.further.values()))
        except (OSError, BadFormat) as error:
            return (str(error),)

    def _look_through_gate(self, *, patient: bool) -> Report | Hold:
        config = self._config(self.pod.read_ledger(), patient=patient)
        if isinstance(config, Hold):
            return config
        own, others = self._opening(), _all({name: each._opening() for name, each in self.further.items()})
        if isinstance(own, Hold):
            return own
        if isinstance(others, Hold):
            return others
        placed = self.pod.write_config(*config)
        further = {name: self.further[name]._pass(each) for name, each in others.items()}
        return replace(self._pass(own), config_hash=placed, volumes=further)

    def _opening(self) -> _Opening | Hold:
        facts, ledger = self.pod.read(), self.pod.read_ledger()
        volume, journal = self.volume.read(), self.pod.read_journal()
        found = judge(volume, ledger, facts)
        passage = decide(found, ledger, facts, journal, volume)
        return passage if isinstance(passage, Hold) else _Opening(found, passage, facts, journal)

    def _pass(self, opening: _Opening) -> Report:
        found, passage, facts = opening.found, opening.passage, opening.facts
        self.pod.write_journal(opening.journal.passed(passage))
        if passage.way is Way.FORMAT and found.nonce != passage.nonce:
            self.volume.write_marker(granted_marker(passage, facts))
            found = replace(found, nonce=passage.nonce)
        return found.report(GuardStep.GATE, facts, way=passage.way.value)

    def _config(self, ledger: LedgerFacts, *, patient: bool) -> tuple[str, str] | Hold:
        text, wanted = self.pod.read_config(), self.pod.environment.config_hash
        if not text:
            return Hold("AwaitingConfig", "the configuration is not mounted")
        if patient and config_hash(text) != wanted:
            return Hold("AwaitingConfig", f"configuration {config_hash(text)} is mounted, the pod is of {wanted}")
        rack = self.pod.read_rack(ledger)
        if rack is None:
            return Hold("AwaitingRack", "the operator has not yet published the rack of this pod's node")
        return text, rack

    def _look_for_seal(self) -> Report | Hold:
        own, others = self._seal(), _all({name: each._seal() for name, each in self.further.items()})
        if isinstance(own, Hold):
            return own
        if isinstance(others, Hold):
            return others
        further = {name: self.further[name]._mark(each) for name, each in others.items()}
        return replace(self._mark(own), volumes=further)

    def _seal(self) -> Sealed | Hold:
        return seal(self.volume.read(), self.pod.read(), self.pod.read_journal())

    def _mark(self, outcome: Sealed) -> Report:
        facts, journal, volume = self.pod.read(), self.pod.read_journal(), self.volume.read()
        if volume.marker is None or replace(volume.marker, pod_uid=facts.uid) != outcome.marker:
            self.volume.write_marker(outcome.marker)
        self.pod.write_journal(journal.with_seal(outcome.marker.nonce))
        return _sealed_report(outcome, facts, journal.passage)


def _all(found: Mapping[str, T | Hold]) -> Mapping[str, T] | Hold:
    """Of every further volume; or why the first that has to wait does."""
    passed: dict[str, T] = {}
    for name, each in found.items():
        if isinstance(each, Hold):
            return Hold(each.reason, f"volume {name}: {each.message}")
        passed[name] = each
    return passed


def _sealed_report(sealed: Sealed, facts: PodFacts, passage: Passage | None) -> Report:
    marker = sealed.marker
    return Report(
        step=GuardStep.SEAL,
        verdict=DiskVerdict.FORMATTED,
        reason="Sealed",
        message=f"directory {marker.directory_id} passed the gate by {passage.way if passage else None}",
        pod_uid=facts.uid,
        node_id=facts.node_id,
        cluster_id=marker.cluster_id,
        disk_node_id=marker.node_id,
        directory_id=marker.directory_id,
        nonce=marker.nonce,
    )
