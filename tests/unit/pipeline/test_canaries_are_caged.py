"""Secrets planted in every field that may hold one are in no output; with `--include-secrets` the dump shows them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from metadata_pipeline import dump
from metadata_pipeline.redaction import new_key
from metadata_pipeline.sources.options import parse_options
from metadata_pipeline.sources.reading import read
from support.pipeline.canaries import OPEN, canaries_in, canary_log
from support.pipeline.logs import log_directory


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return log_directory(tmp_path / "node", canary_log())


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("level", ["records", "batches"])
def test_no_canary_in_a_dump(
    log: Path, form: str, level: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dump.main([str(log), "--format", form, "--level", level, "--output", str(tmp_path / "out")])
    said = capfd.readouterr()
    written = (tmp_path / "out").read_bytes()
    assert canaries_in(written + said.out.encode() + said.err.encode()) == []
    assert (OPEN.encode() in written) == (form == "text" or level == "records")


@pytest.mark.parametrize("level", ["records", "batches"])
@pytest.mark.parametrize("keyed", [False, True])
def test_no_canary_in_arrow_or_parquet(log: Path, level: str, keyed: bool, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(new_key())
    options = {"level": level} | ({"redaction_key_file": str(key)} if keyed else {})
    for batch in read(level, str(log), parse_options(options)):  # type: ignore[arg-type]
        assert canaries_in(batch.serialize().to_pybytes()) == [], "also not in a buffer behind a null"
    target = tmp_path / "out.parquet"
    more = ["--redaction-key-file", str(key)] if keyed else []
    assert dump.main([str(log), "--format", "parquet", "--level", level, "--output", str(target), *more]) == 0
    table = pq.read_table(target)
    assert canaries_in(target.read_bytes() + repr(table.to_pylist()).encode()) == []
    if level == "records":
        assert OPEN in table["value"].to_pylist()
        fingerprints = {value for value in table["value"].to_pylist() if value and value.startswith("redacted")}
        assert len(fingerprints) > 5 if keyed else fingerprints == {"redacted"}


def test_with_secrets_the_dump_shows_them(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Or the tests above would hold for canaries that nobody could find."""
    dump.main([str(log), "--format", "json", "--include-secrets"])
    shown = capsys.readouterr().out.encode()
    places = {name.split("-", 2)[2] for name in canaries_in(shown)}
    assert places >= {
        "salt-tweet",
        "token-tweet",
        "password-tweet",
        "tag-tweet",
        "type-tweet",
        "frame-tweet",
        "control-tweet",
        "topic-tweet",
    }


def test_equal_secrets_look_equal_and_changes_are_seen(log: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(new_key())
    rows = [
        row
        for batch in read("records", str(log), parse_options({"redaction_key_file": str(key)}))
        for row in batch.to_pylist()
    ]
    passwords = {row["value"] for row in rows if row["name"] == "ssl.keystore.password" and row["value"]}
    others = {row["value"] for row in rows if row["name"] == "my.plugin.secret"}
    assert len(passwords) == 1
    assert len(others) == 1
    assert passwords != others
    assert all(row["redacted"] for row in rows if row["name"] == "my.plugin.secret")
    tokens = {
        row["extra"].partition('"tokenId":')[2] for row in rows if row["type"] and "DelegationToken" in row["type"]
    }
    assert len(tokens) == 1, "a token's removal can be joined with its creation"
