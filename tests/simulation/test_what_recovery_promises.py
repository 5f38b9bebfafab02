"""What a log says is flushed after a recovery must survive a power loss, though the process before was killed between
write and sync.
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from random import Random

import pytest

from controller_runtime.identifiers import Epoch, NodeId
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import QuorumState, load_quorum_state, save_quorum_state
from support.simulation.disk import Crashed, SimDisk

pytestmark = pytest.mark.simulation

LOG = "/data/log"


def batch(offset: int) -> bytes:
    return encode_batch([Record(offset, 0, None, b"x" * 50)], base_offset=offset, partition_leader_epoch=1)


@pytest.mark.parametrize("operations", range(8))
def test_what_a_recovered_log_calls_flushed_survives_a_power_loss(operations: int) -> None:
    disk = SimDisk()
    log = MetadataLog.open(disk, LOG)
    for offset in range(3):
        log.append(batch(offset))
        pending = log.take_pending_write()
        assert pending is not None
        if offset == 2:
            disk.operations_left = operations
        with suppress(Crashed):
            pending.perform()
            log.complete(pending)
    disk.kill()

    recovered = MetadataLog.open(disk, LOG)
    promised = recovered.flushed_offset
    for seed in range(20):
        copy = disk_after_power_loss(disk, seed)
        assert MetadataLog.open(copy, LOG).end_offset >= promised


@pytest.mark.parametrize("operations", range(6))
def test_an_election_state_that_was_read_survives_a_power_loss(operations: int) -> None:
    disk = SimDisk()
    MetadataLog.open(disk, LOG)
    save_quorum_state(disk, LOG, QuorumState(Epoch(4)))
    disk.operations_left = operations
    with suppress(Crashed):
        save_quorum_state(disk, LOG, QuorumState(Epoch(5), voted_id=NodeId(2)))
    disk.kill()

    MetadataLog.open(disk, LOG)
    read = load_quorum_state(disk, LOG)
    for seed in range(20):
        assert load_quorum_state(disk_after_power_loss(disk, seed), LOG) == read


def disk_after_power_loss(disk: SimDisk, seed: int) -> SimDisk:
    copy = deepcopy(disk)
    copy.power_loss(Random(seed))
    return copy
