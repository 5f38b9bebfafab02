"""The measurements themselves: our part of them runs, so that they are not found broken on the day they are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import appends, load, logs
from benchmarks.clusters import Quorum
from benchmarks.quorum import Options, starting

pytestmark = pytest.mark.integration


def test_a_start_is_measured(tmp_path: Path) -> None:
    found = starting("quorate", tmp_path, Options())
    assert set(found) == {"exec to answering", "three-node cold start to first commit", "RSS, idle"}
    assert all(values[0] > 0 for values in found.values())


def test_records_appended_inside_the_leader_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appends, "WARM_UP_S", 0.5)
    assert appends.measure("quorate", tmp_path, 1.0) > 1000


def test_the_log_of_a_partition_is_measured_beside_plain_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in (("BATCHES", 200), ("SYNCED", 2), ("READS", 5), ("CHANGED_LOGS", 2)):
        monkeypatch.setattr(logs, name, few)
    found = logs.measure(print, 2)
    assert [figure.name for figure in found] == list(logs.STEPS)
    assert all(figure.ours > 0 and figure.peer > 0 for figure in found)


def test_the_topic_that_the_load_changes_is_made(tmp_path: Path) -> None:
    quorum = Quorum("quorate", tmp_path)
    quorum.format()
    quorum.start()
    try:
        leader = load.prepare(quorum)
        assert load.create_topics(leader, [("many", 50)]) == ""
        assert leader.rss_bytes() > 1 << 20
    finally:
        quorum.stop()
