"""DescribeLogDirs: what lies in which log directory, and how much room is left there.

Each directory is measured by its own thread. One that does not answer in time is told as one that is offline: it is
asked for just when a disk hangs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from controller_runtime.broker.alter_log_directories import directory_of
from controller_runtime.broker.effects import BrokerEffect, DirectoryMeasured, MeasureDirectory, WorkId
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering, LongAnswers
from controller_runtime.identifiers import DirectoryId, Instant, Uuid
from controller_runtime.metadata.cluster import BrokerRegistration
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from controller_runtime.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from controller_runtime.values import dataclass, field

PATIENCE_S: Final = 10.0
"""How long a directory may take to say what lies in it."""


@dataclass(slots=True)
class _Survey:
    event: RequestReceived
    wanted: frozenset[tuple[str, int]] | None
    """None: every partition."""
    deadline: Instant
    cordoned: tuple[DirectoryId, ...]
    open: set[DirectoryId]
    found: dict[DirectoryId, DirectoryMeasured] = field(default_factory=dict)


class LogDirectories:
    def __init__(
        self, partitions: LocalPartitions, paths: Mapping[DirectoryId, str], long: LongAnswers, offline: Iterable[str]
    ) -> None:
        """`offline`: paths of directories that could not be read at start."""
        self._partitions = partitions
        self._long = long
        self._paths = paths
        self._offline = tuple(offline)
        self._online = dict.fromkeys(paths)
        self._surveys: dict[WorkId, _Survey] = {}
        self._last_work = 0

    def on_request(
        self,
        event: RequestReceived,
        request: DescribeLogDirsRequest,
        registration: BrokerRegistration | None,
        now: Instant,
    ) -> list[BrokerEffect]:
        wanted = (
            None
            if request.topics is None
            else frozenset((topic.topic, index) for topic in request.topics for index in topic.partitions)
        )
        cordoned = (registration.cordoned_directories if registration is not None else None) or ()
        survey = _Survey(event, wanted, Instant(now + PATIENCE_S), cordoned, set(self._online))
        if not survey.open:
            return self._answer(survey)
        self._last_work += 1
        work_id = WorkId(self._last_work)
        self._surveys[work_id] = survey
        return [MeasureDirectory(work_id, directory) for directory in self._online]

    def on_measured(self, event: DirectoryMeasured) -> list[BrokerEffect]:
        survey = self._surveys.get(event.work_id)
        if survey is None:
            return []  # it came too late
        survey.found[event.directory_id] = event
        survey.open.discard(event.directory_id)
        if survey.open:
            return []
        del self._surveys[event.work_id]
        return self._answer(survey)

    def lose(self, directory_id: DirectoryId) -> bool:
        """False: no other is left."""
        self._online.pop(directory_id, None)
        return bool(self._online)

    def find(self, path: str) -> DirectoryId | ErrorCode:
        """Which directory has a path, or why nothing can be moved there."""
        if path in self._offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return directory_of(path, self._paths, self._online, self._partitions.cordoned)

    def next_deadline(self) -> Instant | None:
        return min((survey.deadline for survey in self._surveys.values()), default=None)

    def on_time(self, now: Instant) -> list[BrokerEffect]:
        late = [work_id for work_id, survey in self._surveys.items() if now >= survey.deadline]
        return [effect for work_id in late for effect in self._answer(self._surveys.pop(work_id))]

    def _answer(self, survey: _Survey) -> list[BrokerEffect]:
        return self._long.begin(survey.event, self._all(survey))

    def _all(self, survey: _Survey) -> Answering:
        results: list[DescribeLogDirsResult] = []
        for directory, path in self._paths.items():
            results.append((yield from self._result(survey, directory, path)))
        for path in self._offline:
            results.append(DescribeLogDirsResult(log_dir=path, error_code=ErrorCode.KAFKA_STORAGE_ERROR))
        return [Respond(survey.event.request_id, DescribeLogDirsResponse(results=tuple(results)))]

    def _result(
        self, survey: _Survey, directory: DirectoryId, path: str
    ) -> InPieces[BrokerEffect, DescribeLogDirsResult]:
        found = survey.found.get(directory)
        if found is None or found.room is None:
            return DescribeLogDirsResult(log_dir=path, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
        total, usable = found.room
        return DescribeLogDirsResult(
            log_dir=path,
            topics=(yield from self._topics(survey, found)),
            total_bytes=total,
            usable_bytes=usable,
            is_cordoned=directory in survey.cordoned,
        )

    def _topics(
        self, survey: _Survey, found: DirectoryMeasured
    ) -> InPieces[BrokerEffect, tuple[DescribeLogDirsTopic, ...]]:
        """By their ids."""
        topics: dict[Uuid, tuple[str, list[DescribeLogDirsPartition]]] = {}
        logs = [(key, size, None) for key, size in found.sizes.items()]
        for key, size, copied in [*logs, *((key, size, end) for key, (size, end) in found.copies.items())]:
            yield None
            log = self._partitions.open_log(key)
            if log is None or (survey.wanted is not None and (log.topic, key.index) not in survey.wanted):
                continue
            lag = log.high_watermark - log.end_offset if copied is None else log.end_offset - copied
            one = DescribeLogDirsPartition(
                partition_index=key.index,
                partition_size=size,
                offset_lag=max(lag, 0),
                is_future_key=copied is not None,
            )
            topics.setdefault(key.topic_id, (log.topic, []))[1].append(one)
        return tuple(
            DescribeLogDirsTopic(name=name, partitions=tuple(sorted(partitions, key=_index)))
            for _, (name, partitions) in sorted(topics.items())
        )


def _index(partition: DescribeLogDirsPartition) -> int:
    return partition.partition_index
