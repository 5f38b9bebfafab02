"""A lake in an S3 bucket, served by an S3 server that is not ours: jobs work on a copy, commits are conditional puts,
of two writers at once one is refused and nothing of it is there; logs are read from a bucket, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_pipeline.cli import main
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.lake.commits import read_commits, write_commit
from metadata_pipeline.lake.entries import Commit
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.store.bucket import Bucket, Exists
from metadata_pipeline.store.mirror import mirrored
from support.disks.log_fleet import History, disks
from support.object_store.s3_server import BUCKET, S3Server
from support.pipeline.lake_rows import log_rows

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture
def url(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    elsewhere(tmp_path / "here", monkeypatch)
    return f"s3://{BUCKET}/{abs(hash(request.node.name))}"


def elsewhere(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine."""
    monkeypatch.setenv("QUORATE_LAKE_CACHE", str(cache))


def fleet(root: Path, records: int = 20) -> tuple[History, str]:
    log = History("fleet-a")
    log.lead(1)
    log.idle(records)
    disks(root, "fleet-a", (1,))[1].write(log)
    return log, str(root)


def rows(url: str) -> list[int]:
    with mirrored(url) as home:
        return [row[0] for row in log_rows(home, 1)]


def test_a_lake_in_a_bucket_is_one_lake_wherever_it_is_worked_on(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log, logs = fleet(tmp_path / "fleet")
    command = ["ingest", logs, "--output", url, "--master", "none"]
    assert main(command) == 0
    first = rows(url)
    assert "commit 0" in capsys.readouterr().out
    elsewhere(tmp_path / "there", monkeypatch)
    assert main(command) == 0
    assert "nothing new" in capsys.readouterr().out, "another machine knows what was read"
    log.idle(10)
    disks(tmp_path / "fleet", "fleet-a", (1,))[1].write(log)
    assert main(command) == 0
    assert "commit 1" in capsys.readouterr().out
    elsewhere(tmp_path / "here", monkeypatch)
    assert len(rows(url)) > len(first) > 0
    with mirrored(url) as home:
        here = (home / "_redaction_key").read_bytes()
        assert (home / "_redaction_key").stat().st_mode & 0o077 == 0
    elsewhere(tmp_path / "there", monkeypatch)
    with mirrored(url) as home:
        assert (home / "_redaction_key").read_bytes() == here, "fingerprints stay comparable"


def test_of_two_writers_at_once_one_is_refused_and_nothing_of_it_is_seen(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, logs = fleet(tmp_path / "fleet")
    with mirrored(url) as home:
        ingest(logs, home)
    with pytest.raises(PipelineError, match="another writer made commit 1"), mirrored(url) as slow:
        write_commit(slow, Commit(1, "ours", 0))
        elsewhere(tmp_path / "there", monkeypatch)
        with mirrored(url) as quick:
            write_commit(quick, Commit(1, "theirs", 0))
        elsewhere(tmp_path / "here", monkeypatch)
    with mirrored(url) as home:
        assert [commit.job for commit in read_commits(home)] == ["ingest", "theirs"]


def test_only_one_of_many_puts_of_a_commit_succeeds(url: str) -> None:
    won: list[int] = []

    def put(number: int) -> None:
        try:
            Bucket(url).put_new("_commits/x", str(number).encode())
        except Exists:
            return
        won.append(number)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert Bucket(url).get("_commits/x") == str(won[0]).encode()


def test_a_job_that_fails_leaves_nothing_in_the_store(url: str, tmp_path: Path) -> None:
    _, logs = fleet(tmp_path / "fleet")
    with pytest.raises(RuntimeError), mirrored(url) as home:
        ingest(logs, home)
        raise RuntimeError("killed")
    with mirrored(url) as home:
        assert lake_state(home).version == -1
        ingest(logs, home)
    assert rows(url)


def test_a_store_that_lost_an_object_is_told_by_its_name(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, logs = fleet(tmp_path / "fleet")
    with mirrored(url) as home:
        ingest(logs, home)
        (file, *_) = lake_state(home).files
    Bucket(url).put(file, b"")
    elsewhere(tmp_path / "there", monkeypatch)
    with pytest.raises(PipelineError, match=f"commit 0 names {file}, which the store does not have whole"):
        rows(url)


def test_logs_are_read_from_a_bucket(url: str, server: S3Server, tmp_path: Path) -> None:
    _, logs = fleet(tmp_path / "fleet")
    archive = Bucket(f"{url}/archive")
    for path in Path(logs).rglob("*"):
        if path.is_file():
            archive.put(str(path.relative_to(logs)), path.read_bytes())
    at = f"{url}/archive?endpoint_override=127.0.0.1:{server.port}&scheme=http&region=us-east-1"
    assert main(["ingest", at, "--output", url, "--master", "none"]) == 0
    assert rows(url) == list(range(len(rows(url))))
    assert rows(url)


def test_what_a_store_refuses_is_two_clear_lines(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, logs = fleet(tmp_path / "fleet")
    assert main(["ingest", logs, "--output", "s3://there-is-no-such-bucket/lake", "--master", "none"]) == 2
    assert capsys.readouterr().err.startswith("kraft-pipeline ingest: s3://there-is-no-such-bucket/lake: ")
    assert main(["ingest", "x", "--output", url, "--master", "spark://elsewhere:7077"]) == 2
    assert "worked on by one machine" in capsys.readouterr().err
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert main(["ingest", "x", "--output", url, "--master", "none"]) == 2
    assert "Traceback" not in capsys.readouterr().err
