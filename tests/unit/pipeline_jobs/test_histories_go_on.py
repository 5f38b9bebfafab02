"""Which clusters a build makes whole, which go on, which it leaves alone; which rows of earlier files then count."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metadata_pipeline.audit.findings import AuditFinding
from metadata_pipeline.audit.looking import LOOKED, look_of, to_keep
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.lake.commits import write_commit
from metadata_pipeline.lake.entries import Commit, LakeFile, Rebuilt, from_json, to_json
from metadata_pipeline.lake.reading import arrow_table, rows_of_file
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.tables.committed import BUILT, clusters
from metadata_pipeline.tables.history_files import merge
from metadata_pipeline.tables.memory import Scope, remembered, scope_of, to_remember
from support.disks.log_fleet import Disk, History, disks, topic


class Fleet:
    """One cluster, `fleet`, of three disks, and a lake that is told of them."""

    def __init__(self, home: Path) -> None:
        self.lake = home / "lake"
        self.root = home / "fleet"
        self.log = History("fleet")
        self.log.lead(1)
        self.log.append(topic(1, "first"))
        self.log.idle(6)
        self.disks: dict[int, Disk] = disks(self.root, "fleet")

    def write(self, **ends: int) -> None:
        for node, disk in self.disks.items():
            disk.write(self.log, end=ends.get(f"n{node}"))

    def look(self) -> LakeState:
        ingest(str(self.root), self.lake)
        return lake_state(self.lake)

    def built(self, *, anew: bool = False) -> None:
        """What a build commits beside its files."""
        state = lake_state(self.lake)
        number = state.version + 1
        known = clusters(state)
        memory = {it.cluster: to_remember(it, number, whole=number, anew=anew) for it in known}
        proven = {it.cluster: {"end": it.canon.end, "epoch": it.canon.epoch} for it in known}
        write_commit(self.lake, Commit(number, "tables", 0, summary={BUILT: memory, "proven": proven, "standings": {}}))

    def audited(self) -> None:
        state = lake_state(self.lake)
        number = state.version + 1
        looked = to_keep(number, clusters(state), remembered(state), ())
        write_commit(self.lake, Commit(number, "audit", 0, summary={LOOKED: looked}))

    def since(self) -> dict[str, int]:
        state = self.look()
        return dict(scope_of(state, clusters(state)).since)

    def looked_at(self) -> dict[str, int]:
        state = lake_state(self.lake)
        return dict(look_of(state, clusters(state)).scope.since)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    made = Fleet(tmp_path)
    made.write()
    made.look()
    made.built()
    made.audited()
    return made


def test_of_a_cluster_at_rest_nothing_is_made(fleet: Fleet) -> None:
    assert fleet.since() == {}
    assert fleet.looked_at() == {}


def test_a_history_that_grew_goes_on_where_it_ended(fleet: Fleet) -> None:
    end = fleet.log.end
    fleet.log.append(topic(2))
    fleet.write()
    assert fleet.since() == {"fleet": end}
    assert fleet.looked_at() == {"fleet": end - 1}
    fleet.built()
    assert fleet.since() == {}


def test_of_files_that_reach_below_what_is_new_the_rows_from_there_on_are_read(fleet: Fleet) -> None:
    end = fleet.log.end
    fleet.log.append(topic(2))
    fleet.write()
    state = fleet.look()
    scope = look_of(state, clusters(state)).scope
    for table, column in (("records", "offset"), ("batches", "base_offset")):
        read = {live.commit: scope.condition(live, column) for live in state.of(table) if scope.wants(live)}
        old, new = read[min(read)], read[max(read)]
        assert f"{column} >= {end - 1}" in old and "kind" not in old, "one condition that leaves groups of rows out"
        assert new == "", "all of it"
    assert scope.rows(state, "records") == 6, "of each disk the new record and the one before"
    assert sum(live.file.rows for live in state.of("records")) == 3 * (end + 1)


def test_who_provided_offsets_goes_on_doing_so_whoever_catches_up(tmp_path: Path) -> None:
    made = Fleet(tmp_path)
    made.write(n1=made.log.end - 3)
    made.look()
    made.built()
    (before,) = clusters(lake_state(made.lake))
    assert {part.copy.node for part in before.canon.parts} == {2}, "the lowest node lags"
    end = made.log.end
    made.log.idle(4)
    made.write(n2=end + 1)
    assert made.since() == {"fleet": end}
    (after,) = clusters(lake_state(made.lake))
    assert [(part.copy.node, part.start, part.end) for part in after.canon.parts] == [(2, 0, end), (1, end, end + 4)]


def test_a_provider_that_lost_what_it_provided_makes_the_history_anew(fleet: Fleet) -> None:
    fleet.write(n1=fleet.log.end - 4)
    assert fleet.since() == {"fleet": 0}
    assert fleet.looked_at() == {"fleet": 0}


def test_a_gap_that_was_filled_makes_the_history_anew(tmp_path: Path) -> None:
    made = Fleet(tmp_path)
    for disk in made.disks.values():
        disk.write(made.log, start=made.log.batches[3].base)
    made.look()
    made.built()
    assert not clusters(lake_state(made.lake))[0].stretches, "nothing is known without a beginning"
    made.write()
    assert made.since() == {"fleet": 0}


def test_what_has_not_ended_is_made_anew_when_it_goes_on(fleet: Fleet) -> None:
    fleet.built(anew=True)
    assert fleet.since() == {}
    fleet.log.idle(1)
    fleet.write()
    assert fleet.since() == {"fleet": 0}


def test_a_lagging_copys_new_records_are_compared_from_where_they_begin(tmp_path: Path) -> None:
    made = Fleet(tmp_path)
    made.write(n3=made.log.end - 5)
    made.look()
    made.built()
    made.audited()
    made.write()
    assert made.since() == {}, "nothing more is committed"
    assert made.looked_at() == {"fleet": made.log.end - 5}


def test_clusters_with_findings_are_looked_at_whole_when_something_is_new(fleet: Fleet) -> None:
    state = lake_state(fleet.lake)
    found = AuditFinding("fleet", "bit rot", 1, None, "f", 0, 0, "crc")
    looked = to_keep(state.version + 1, clusters(state), remembered(state), [found])
    write_commit(fleet.lake, Commit(state.version + 1, "audit", 0, summary={LOOKED: looked}))
    state = lake_state(fleet.lake)
    assert look_of(state, clusters(state)).kept == (found,)
    fleet.log.idle(1)
    fleet.write()
    fleet.look()
    assert fleet.looked_at() == {"fleet": 0}


def test_a_clock_that_jumped_once_is_kept_and_costs_no_look_at_the_whole(fleet: Fleet) -> None:
    state = lake_state(fleet.lake)
    jumped = AuditFinding("fleet", "clock jump", None, None, None, None, 4, "by 3600 s")
    looked = to_keep(state.version + 1, clusters(state), remembered(state), [jumped])
    write_commit(fleet.lake, Commit(state.version + 1, "audit", 0, summary={LOOKED: looked}))
    end = fleet.log.end
    fleet.log.idle(1)
    fleet.write()
    state = fleet.look()
    look = look_of(state, clusters(state))
    assert (look.scope.since, look.kept) == ({"fleet": end - 1}, (jumped,))


def file(lake: Path, name: str, rows: dict[str, int], *, still: bool) -> LakeFile:
    made = pa.table({"cluster_id": [cluster for cluster, count in rows.items() for _ in range(count)]})
    path = f"data/topics/{name}.parquet"
    (lake / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(made, lake / path)
    return LakeFile(path, "topics", made.num_rows, 1, still=still)


def test_what_goes_on_replaces_what_was_still_so_and_nothing_else(tmp_path: Path) -> None:
    first = (
        file(tmp_path, "closed-0", {"a": 3, "b": 2}, still=False),
        file(tmp_path, "still-0", {"a": 1, "b": 4}, still=True),
    )
    second = (file(tmp_path, "still-1", {"a": 7}, still=True), file(tmp_path, "closed-1", {"a": 1}, still=False))
    commits = [
        Commit(0, "tables", 0, first, rebuilt=Rebuilt(("topics",), ("a", "b"), ())),
        Commit(1, "tables", 0, second, rebuilt=Rebuilt(("topics",), (), ("a",))),
        Commit(2, "tables", 0, rebuilt=Rebuilt(("topics",), ("b",), ())),
    ]
    assert [from_json(to_json(commit)) for commit in commits] == commits

    def counted(state: LakeState) -> dict[str, int]:
        return {Path(path).stem: rows_of_file(tmp_path, live) for path, live in state.files.items()}

    assert counted(replay(commits[:1])) == {"closed-0": 5, "still-0": 5}
    assert counted(replay(commits[:2])) == {"closed-0": 5, "still-0": 4, "still-1": 7, "closed-1": 1}
    assert counted(replay(commits)) == {"closed-0": 3, "still-1": 7, "closed-1": 1}, "no row of still-0 counts"


def test_small_files_are_merged_without_the_rows_that_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_pipeline.tables.history_files.MOST_FILES", 3)
    sizes = (100, 2, 1, 2)
    commits = [
        Commit(
            number, "tables", 0, (file(tmp_path, f"closed-{number}", {"a": size, "b": 1}, still=False),),
            rebuilt=Rebuilt(("topics",), (), ("a", "b")),
        )
        for number, size in enumerate(sizes)
    ]  # fmt: skip
    state = replay(commits)
    ((made, replaced),) = merge(tmp_path, state, Scope({"b": 0}), ["topics"], "run")
    assert sorted(Path(path).stem for path in replaced) == ["closed-1", "closed-2", "closed-3"], "the large one stays"
    assert (made.clusters, made.rows) == (("a",), 5), "b is made anew by this build"
    after = replay([Commit(4, "tables", 0, (made,), tuple(replaced), rebuilt=Rebuilt(("topics",), ("b",), ()))], state)
    assert sorted(rows_of_file(tmp_path, live) for live in after.files.values()) == [5, 100]
    assert arrow_table(tmp_path, after.files[made.path])["cluster_id"].to_pylist() == ["a"] * 5
