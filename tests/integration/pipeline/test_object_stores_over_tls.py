"""An object store whose certificate is of an authority of its own, and whose credentials are files as Kubernetes mounts
them: an archive's copy and a lake, by a real S3 server behind TLS. No credential is told anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_pipeline.archive.command import main
from metadata_pipeline.archive.problems import StoreProblem, StoreStanding
from metadata_pipeline.archive.shipping import Shipper, StoreSettings, open_objects
from metadata_pipeline.archive.telling import Telling, as_json
from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.store.bucket import AUTHORITY, CREDENTIALS, Bucket, StoreError
from metadata_pipeline.store.mirror import mirrored
from metadata_pipeline.wire.leader import Mark
from support.object_store.s3_server import BUCKET, S3Server
from support.object_store.tls_front import TlsFront
from support.security.authority import Authority

pytestmark = pytest.mark.integration

ID, SECRET = "CANARYKEYID", "canary-of-the-secret-key"
URL = f"s3://{BUCKET}/over-tls"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture
def front(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TlsFront]:
    """The environment has the endpoint, and neither its authority nor credentials."""
    authority = Authority("store-ca")
    (tmp_path / "ca.crt").write_text(authority.pem)
    pem = authority.issue("store", ["127.0.0.1"]).write(tmp_path / "own")
    for name in (*CREDENTIALS, AUTHORITY, "AWS_ALLOW_HTTP"):
        monkeypatch.delenv(name, raising=False)
    with TlsFront(pem, server.port) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{running.port}")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield running


def mounted(folder: Path) -> Path:
    """As a kubelet does: the files are links into a directory that is swapped."""
    (folder / "..data").mkdir(parents=True)
    for name, text in zip(CREDENTIALS, (ID, SECRET + "\n"), strict=False):
        (folder / "..data" / name).write_text(text)
        (folder / name).symlink_to(f"..data/{name}")
    return folder


def test_an_authority_of_its_own_is_trusted_when_it_is_named_and_credentials_are_read_from_files(
    front: TlsFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = mounted(tmp_path / "credentials")
    settings = StoreSettings(URL, credentials=folder)
    with pytest.raises(StoreProblem) as unknown:
        open_objects(settings).manifest()
    assert unknown.value.standing is StoreStanding.AWAY
    assert not front.came, "nothing is said to who is not known"
    monkeypatch.setenv(AUTHORITY, str(tmp_path / "ca.crt"))
    assert open_objects(settings).manifest() is None
    assert f"Credential={ID}/".encode() in front.came
    assert SECRET.encode() not in front.came
    told = capfd.readouterr()
    assert SECRET not in f"{unknown.value.why}{told.out}{told.err}{StoreSettings(URL, credentials=folder)}"
    for name, value in zip(CREDENTIALS, ("LAKES", SECRET), strict=False):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("QUORATE_LAKE_CACHE", str(tmp_path / "cache"))
    with mirrored(f"s3://{BUCKET}/lake") as home:
        assert b"Credential=LAKES/" in front.came
        assert list(read_commits(home)) == []


def test_what_is_missing_is_named_without_what_is_there_and_nothing_is_taken_instead(
    front: TlsFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AUTHORITY, str(tmp_path / "ca.crt"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
    folder = tmp_path / "none"
    folder.mkdir()
    log: list[str] = []
    seen = Telling(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", mark=Mark(1, 1))
    shipper = Shipper(tmp_path / "archive", StoreSettings(URL, credentials=folder), lambda: seen, log.append)
    assert not shipper.step()
    assert shipper.telling.standing is StoreStanding.REFUSED
    assert shipper.telling.why == f"{folder} has no AWS_ACCESS_KEY_ID and no AWS_SECRET_ACCESS_KEY"
    (folder / "AWS_ACCESS_KEY_ID").write_text(ID)
    (folder / "AWS_SECRET_ACCESS_KEY").write_bytes(SECRET.encode() + b"\xff")
    assert not shipper.step()
    assert shipper.telling.why == f"{folder}/AWS_SECRET_ACCESS_KEY cannot be read (UnicodeDecodeError)"
    assert SECRET not in f"{log}{json.loads(as_json(seen))}"
    assert not front.came
    (folder / "AWS_SECRET_ACCESS_KEY").write_text(SECRET)
    assert shipper.step(), "it goes on by itself when they are there"
    assert b"of-the-environment" not in front.came


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_an_authority_that_is_none_is_named(
    front: TlsFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    file = tmp_path / "nothing.crt"
    if text is not None:
        file.write_text(text)
    monkeypatch.setenv(AUTHORITY, str(file))
    with pytest.raises(StoreError, match=str(file)) as refused:
        Bucket(URL)
    assert refused.value.refused


def test_fetch_takes_credentials_from_files_too(
    front: TlsFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(AUTHORITY, str(tmp_path / "ca.crt"))
    folder = mounted(tmp_path / "credentials")
    assert main(["fetch", f"{URL}-nothing", "--store-credentials", str(folder)]) == 2
    assert "has no archive" in capsys.readouterr().err
    assert f"Credential={ID}/".encode() in front.came
