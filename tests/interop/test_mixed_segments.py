"""Small segments on both sides: a Java follower appends what it is given in one answer, and only if it fits into one of
its segments.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import ConfigChange
from support.apache_kafka.mixed_quorum import MixedQuorum
from support.apache_kafka.voter_logs import compare
from support.clients.config_load import ALL_BROKERS
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

SEGMENT_BYTES = 100_000
VALUE = "v" * 24_000
CHANGES = 24


async def _write(bootstrap: str, name: str) -> None:
    async with AdminClient(bootstrap_controllers=bootstrap, timeout_seconds=30.0) as admin:
        for number in range(CHANGES):
            changed = await admin.incremental_alter_configs({ALL_BROKERS: [ConfigChange(f"{name}.{number}", VALUE)]})
            assert changed[ALL_BROKERS] is None, changed


@pytest.mark.timeout(600)
def test_java_follows_a_log_of_ours_across_its_segments_from_its_beginning_and_from_its_tail(tmp_path: Path) -> None:
    """Beside Java: what a fetch brings is never more than one segment's batches."""
    extra = {"internal.metadata.log.segment.bytes": str(SEGMENT_BYTES)}
    with MixedQuorum(tmp_path, "O", spares="J", extra=extra) as quorum:
        quorum.start()
        quorum.leader()
        asyncio.run(_write(quorum.bootstrap, "before"))
        quorum.boot(2)
        quorum.wait_until_following([1, 2])
        asyncio.run(_write(quorum.bootstrap, "beside"))
        agreed = quorum.wait_until_following([1, 2])
        for node_id in (1, 2):
            segments = sorted(quorum.metadata(node_id).glob("*.log"))
            assert len(segments) > 2 * CHANGES * len(VALUE) // SEGMENT_BYTES, segments
        eventually("the follower is on disk", lambda: compare({n: quorum.metadata(n) for n in (1, 2)}, agreed) > 0)
        assert quorum.java_faults() == []
        assert quorum.is_running(2)
