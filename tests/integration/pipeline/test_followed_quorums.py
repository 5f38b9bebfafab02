"""Living quorums that change while they are followed: bounded steps, restarts, trimming, other voters, other
certificates, a leader that is alone. Nothing is read twice, and what cannot be read is said in a word.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from controller_runtime.cli.main import main as run_kraft
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.record_batch import batch_headers
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.tables.committed import clusters
from metadata_pipeline.wire.fleet import Quorum
from metadata_pipeline.wire.following import Followed, Held, Standing
from support.nodes.processes import CLUSTER_ID, Cluster, NodeProcess, eventually
from support.pipeline.lake_rows import log_rows
from support.security.authority import Authority, secure_properties, tls_properties, write_properties
from support.security.sasl_cluster import NODE_SECRET, PASSWORD, USER, SaslCluster, client_file

pytestmark = pytest.mark.integration

NAME = "it"
PRUNING = {
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "metadata.max.retention.bytes": "1",
}


def offsets(held: list[Held]) -> list[int]:
    """Base offsets of every batch of the log."""
    return [
        header.base_offset
        for one in held
        for name, data in one.files
        if name.endswith(".log")
        for header in batch_headers(data, partial_tail=False)
    ]


def faults(held: list[Held]) -> list[str]:
    return [one.fault for one in held if one.fault]


def test_steps_are_bounded_and_what_was_planned_is_read_again_after_a_restart_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_pipeline.wire.leader.SECONDS", 3.0)
    with Cluster(tmp_path, controllers=1) as cluster:
        cluster.start()
        eventually("some records", lambda: cluster.quorum().high_watermark > 60)
        quorum = Quorum(NAME, cluster.bootstrap_controllers, CLUSTER_ID)
        followed, marks = Followed([quorum]), [dict[str, str]()]
        ends = followed.ends({})
        seen: list[Held] = []
        while len(marks) == 1 or marks[-1] != marks[-2]:
            marks.append(followed.advance(marks[-1], 1, ends))
            step = followed.between(marks[-2], marks[-1])
            assert Followed([quorum]).between(marks[-2], marks[-1]) == step, "another process reads the same"
            seen += step
        assert len(marks) > 3 or ends[NAME] < 100, "a reply is one step at least"
        assert offsets(seen) == sorted(set(offsets(seen)))
        assert Standing.parse(marks[-1][NAME]).mark.end == ends[NAME] > 60
        whole = Followed([quorum]).between({}, marks[-1])
        assert offsets(whole) == offsets(seen)
        node = cluster.nodes[1]
        node.kill()
        gone = followed.advance(marks[-1])
        assert faults(followed.between(marks[-1], gone)) == ["away"]
        assert followed.advance(gone) == gone, "it is said once"
        with pytest.raises(PipelineError, match="away"):
            Followed([quorum]).between({}, marks[-1])
        node.start()
        cluster.wait_for_leader()
        back = followed.advance(gone)
        again = followed.between(gone, back)
    assert faults(again) == []
    assert offsets(again)[0] == ends[NAME], "it goes on where it was"


def test_what_was_trimmed_before_it_was_read_is_said_and_reading_goes_on_behind_it(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, extra=PRUNING) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        quorum = Quorum(NAME, cluster.bootstrap_controllers)
        planned = Followed([quorum]).advance({})
        begun = Standing.parse(planned[NAME]).mark.end

        def trimmed() -> bool:
            held = Followed([quorum]).between({}, Followed([quorum]).advance({}))
            return int(held[0].files[0][0].partition("-")[0].removesuffix(".log")) > begun

        eventually("a log that begins behind what was planned", trimmed)
        followed = Followed([quorum])
        (late,) = followed.between({}, planned)
        assert (late.fault, late.files) == ("trimmed", ())
        after = followed.advance(planned)
        (held,) = followed.between(planned, after)
    first = int(held.files[0][0].partition("-")[0].removesuffix(".log"))
    assert first == begun or (first > begun and held.files[0][0].endswith(".checkpoint")), "nothing is read twice"
    assert offsets([held])[:1] in ([], [first])


def test_a_leader_that_is_alone_shows_what_was_committed_and_its_tail_is_never_read(tmp_path: Path) -> None:
    """Both followers stand still: what the leader writes then is truncated later, and another one leads."""
    lake = tmp_path / "lake"
    with Cluster(tmp_path, controllers=3, extra={"controller.quorum.fetch.timeout.ms": "20000"}) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        quorum = Quorum(NAME, cluster.bootstrap_controllers, CLUSTER_ID)
        ingest((), lake, quorums=[quorum])
        followers = [node for node in cluster.nodes.values() if node is not leader]
        for node in followers:
            _signal(node, signal.SIGSTOP)
        uncommitted = _end_of_log(leader)
        eventually("a tail that nobody has", lambda: _end_of_log(leader) > uncommitted + 500)
        alone = Quorum(NAME, str(leader.endpoint), CLUSTER_ID)
        ingest((), lake, quorums=[alone])
        committed = clusters(lake_state(lake))[0].canon.end
        leader.kill()
        for node in followers:
            _signal(node, signal.SIGCONT)
        cluster.wait_for_leader(other_than=leader.node_id)
        leader.start()
        end = eventually("committed again", lambda: _beyond(cluster, committed + 5))
        eventually("the tail is gone", lambda: _known_end(lake, quorum) >= end)
        seen = log_rows(lake)
        disks = tmp_path / "disks"
        ingest([node.properties["log.dirs"] for node in followers], disks)
    assert [row[0] for row in seen] == list(range(len(seen)))
    held = log_rows(disks, followers[0].node_id)
    assert seen[: len(held)] == held[: len(seen)], "the log that the majority has"
    assert lake_state(lake).truncations == (), "what is below a high watermark is never taken back"


def _signal(node: NodeProcess, number: signal.Signals) -> None:
    assert node.process is not None
    node.process.send_signal(number)


def _end_of_log(node: NodeProcess) -> int:
    return sum(file.stat().st_size for file in Path(node.properties["log.dirs"]).rglob("*.log"))


def _beyond(cluster: Cluster, offset: int) -> int | None:
    high = cluster.quorum().high_watermark
    return high if high > offset else None


def _known_end(lake: Path, *read_first: Quorum) -> int:
    if read_first:
        ingest((), lake, quorums=read_first)
    return clusters(lake_state(lake))[0].canon.end


def test_voters_that_change_are_followed_to_the_leader_that_is_left(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        quorum = Quorum(NAME, cluster.bootstrap_controllers, CLUSTER_ID)
        ingest((), lake, quorums=[quorum])

        async def remove() -> None:
            async with cluster.admin() as admin:
                voters = (await admin.describe_quorum()).voters
                gone = next(one for one in voters if one.replica_id == leader.node_id)
                assert gone.directory_id is not None
                await admin.remove_voter(NodeId(leader.node_id), gone.directory_id)

        asyncio.run(remove())
        cluster.wait_for_leader(other_than=leader.node_id)
        leader.stop()
        end = eventually("more", lambda: _beyond(cluster, _known_end(lake) + 5))
        done = ingest((), lake, quorums=[quorum])
        (known,) = clusters(lake_state(lake))
        seen = log_rows(lake)
    assert done.troubles == ()
    assert known.canon.end >= end
    assert [row[0] for row in seen] == list(range(len(seen)))
    assert seen[-1][1] > seen[0][1], "another leader"
    assert [row[2] for row in seen].count("VotersRecord") == 2, "the first ones, and those that are left"


def test_other_certificates_are_a_quorum_that_is_away_until_they_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutual TLS; the credentials' files are read anew by every reading."""
    monkeypatch.setattr("metadata_pipeline.wire.leader.SECONDS", 3.0)
    lake, old, new = tmp_path / "lake", Authority("old-ca"), Authority("new-ca")
    properties = tmp_path / "client.properties"

    def trusting(*authorities: Authority) -> None:
        trusted = authorities[0].write(tmp_path, "trusted.pem", *authorities[1:])
        own = authorities[-1].issue("reader").write(tmp_path, "reader.pem")
        write_properties(properties, {"security.protocol": "SSL", **tls_properties(own, trusted)})

    with Cluster(tmp_path, controllers=1) as cluster:
        node = cluster.nodes[1]
        node.properties |= secure_properties(old.issue("node").write(node.directory), old.write(node.directory))
        cluster.start()
        trusting(old)
        quorum = Quorum(NAME, cluster.bootstrap_controllers, CLUSTER_ID, str(properties))
        eventually("something of it", lambda: ingest((), lake, quorums=[quorum]).commit is not None and log_rows(lake))
        before = len(log_rows(lake))
        node.stop()
        node.properties |= secure_properties(new.issue("node").write(node.directory), new.write(node.directory))
        node.start()
        (trouble,) = ingest((), lake, quorums=[quorum]).troubles
        assert trouble.fault == "away"
        assert len(log_rows(lake)) == before
        trusting(old, new)
        eventually("it is read on", lambda: ingest((), lake, quorums=[quorum]).troubles == ())
        eventually("more of it", lambda: _known_end(lake, quorum) > before)
    assert [row[0] for row in log_rows(lake)] == list(range(len(log_rows(lake))))


def test_a_reader_needs_cluster_action_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_pipeline.wire.leader.SECONDS", 3.0)
    lake = tmp_path / "lake"
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:node",
    }
    with SaslCluster(tmp_path, controllers=1, brokers=0, **settings) as cluster:
        cluster.start()
        root = client_file(tmp_path / "root.properties", "PLAIN", "node", NODE_SECRET)
        reader = client_file(tmp_path / "reader.properties", "PLAIN", USER, PASSWORD)
        at = ["--bootstrap-controller", cluster.bootstrap_controllers, "--command-config", root]
        nameless = Quorum(NAME, cluster.bootstrap_controllers, None, reader)
        quorum = Quorum(NAME, cluster.bootstrap_controllers, CLUSTER_ID, reader)
        eventually(
            "a quorum that refuses",
            lambda: [it.fault for it in ingest((), lake, quorums=[quorum]).troubles] == ["refused"],
        )
        granted = [*at, "--add", "--allow-principal", f"User:{USER}", "--operation", "ClusterAction", "--cluster"]
        assert run_kraft(["acls", *granted]) == 0, capsys.readouterr()
        assert [it.fault for it in ingest((), lake, quorums=[nameless]).troubles] == ["refused"], "its id needs more"
        assert ingest((), lake, quorums=[quorum]).troubles == ()
        assert log_rows(lake)
        assert ingest((), lake, quorums=[nameless]).troubles == (), "the lake remembers the id"
