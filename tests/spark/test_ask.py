"""`kraft-pipeline ask`: the questions of the page by name, and three beside them, as table, CSV and JSON; what they
answer is what the tables say when they are read in another way.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from metadata_pipeline import cli
from metadata_pipeline.ask.questions import QUESTIONS
from metadata_pipeline.tables.as_of import open_views
from support.pipeline.everything import GOLDEN_CLUSTER, Everything
from support.pipeline.kept_session import Kept
from support.pipeline.questions import QUESTION

pytestmark = pytest.mark.timeout(1200)

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"


class Asking:
    """The command, in the session of the tests."""

    def __init__(self, everything: Everything, capsys: pytest.CaptureFixture[str]) -> None:
        self.everything, self._capsys = everything, capsys

    def said(self, *words: str, code: int = 0) -> str:
        assert cli.main(["ask", *words, "--output", str(self.everything.lake)]) == code
        out, err = self._capsys.readouterr()
        return out if code == 0 else err

    def rows(self, *words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.said(*words, "--format", "json", "--limit", "100000"))
        return found

    def golden(self, table: str) -> list[dict[str, Any]]:
        return self.everything.rows[GOLDEN_CLUSTER][table]


@pytest.fixture
def asking(everything: Everything, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Asking:
    monkeypatch.setattr("metadata_pipeline.session.open_session", lambda *_, **__: Kept(everything.spark))
    return Asking(everything, capsys)


def test_the_ten_questions_of_the_page_have_names_and_the_same_answers(asking: Asking) -> None:
    open_views(asking.everything.spark, asking.everything.lake)
    of_page = [match["sql"] for match in QUESTION.finditer(PAGE.read_text())]
    assert len(of_page) == 10
    for sql, one in zip(of_page, QUESTIONS, strict=False):
        expected = [row.asDict() for row in asking.everything.spark.sql(sql).collect()]
        more = ["--from", "700"] if one.name == "at" else []
        answered = list(
            csv.DictReader(io.StringIO(asking.said(one.name, "--cluster", GOLDEN_CLUSTER, *more, "--format", "csv")))
        )
        shown = [{name: row[name] for name in expected[0]} for row in answered]
        wanted = [{name: _text(value) for name, value in row.items()} for row in expected]
        chosen = [row for row in shown if row in wanted]
        assert chosen == wanted, one.name
        assert {row["cluster_id"] for row in answered} == {GOLDEN_CLUSTER}


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return json.dumps(value) if isinstance(value, list) else "" if value is None else str(value)


def test_every_question_is_listed_and_answered_for_a_whole_fleet(asking: Asking) -> None:
    assert [line.split()[0] for line in asking.said().splitlines()] == [one.name for one in QUESTIONS]
    needed = {"changed": ("--from", "2020-01-01", "--to", "2100-01-01"), "short-isr-while": ("--fenced", "12")}
    for one in QUESTIONS:
        clusters = {row["cluster_id"] for row in asking.rows(one.name, *needed.get(one.name, ()))}
        assert len(clusters) > 1 or one.name in ("short-isr-while", "former-acls", "silences"), one.name
    assert asking.said("former-acls", "--cluster", GOLDEN_CLUSTER).splitlines()[0].startswith("cluster_id ")


def test_what_changed_between_two_moments_is_what_the_tables_say_of_each(asking: Asking) -> None:
    found = asking.rows("changed", "--cluster", GOLDEN_CLUSTER, "--from", "200", "--to", "700")
    for table, name in (("topics", "name"), ("configs", None)):
        before, after = (
            {
                " ".join(
                    str(row[key]) for key in ((name,) if name else ("resource_type", "resource_name", "name"))
                ): row["topic_id" if name else "value"]
                for row in asking.golden(table)
                if row["valid_from"] <= at and (row["valid_to"] is None or row["valid_to"] > at)
            }
            for at in (200, 700)
        )
        expected = dict.fromkeys(after.keys() - before.keys(), "added")
        expected |= dict.fromkeys(before.keys() - after.keys(), "removed")
        expected |= {key: "changed" for key in before.keys() & after.keys() if before[key] != after[key]}
        assert expected, "something did"
        assert {row["thing"]: row["change"] for row in found if row["in_table"] == table} == expected
    assert asking.rows("changed", "--cluster", GOLDEN_CLUSTER, "--from", "700", "--to", "700") == []


def test_who_was_without_full_isr_while_a_broker_was_fenced(asking: Asking) -> None:
    fenced = [row for row in asking.golden("brokers") if row["broker_id"] == 12 and row["fenced"]]
    far = datetime(9999, 1, 1)
    expected = {
        (part["topic"], part["partition_id"])
        for part in asking.golden("partitions")
        for row in fenced
        if len(part["isr"]) < len(part["replicas"])
        and part["valid_from_time"] < (row["valid_to_time"] or far)
        and (part["valid_to_time"] or far) > row["valid_from_time"]
    }
    found = asking.rows("short-isr-while", "--fenced", "12", "--cluster", GOLDEN_CLUSTER)
    assert expected
    assert {(row["topic"], row["partition_id"]) for row in found} == expected
    assert all(row["missing"] for row in found)
    begin, end = (min(row["valid_from_time"] for row in fenced), max(row["valid_from_time"] for row in fenced))
    period = asking.rows("short-isr-while", "--from", f"{begin}", "--to", f"{end}", "--cluster", GOLDEN_CLUSTER)
    assert all(row["since"] >= begin.isoformat()[:19] and row["until"] is not None for row in period)


def test_configurations_that_differ_between_clusters_of_a_label(asking: Asking, tmp_path: Path) -> None:
    held = {
        cluster: {
            (row["resource_type"], row["resource_name"], row["name"]): row["value"]
            for row in tables["configs"]
            if row["valid_to"] is None and row["resource_type"] != 2
        }
        for cluster, tables in asking.everything.rows.items()
        if tables["partitions"] or tables["brokers"]
    }
    other = next(name for name, configs in held.items() if name != GOLDEN_CLUSTER and configs)
    fleet = tmp_path / "fleet.yaml"
    quorums = [
        {"name": name, "bootstrap": "h:1", "cluster-id": cluster, "labels": {"tier": tier}}
        for name, cluster, tier in (("a", GOLDEN_CLUSTER, "one"), ("b", other, "one"), ("c", "elsewhere", "two"))
    ]
    fleet.write_text(json.dumps({"quorums": quorums}))
    found = asking.rows("config-differs", "--fleet", str(fleet), "--label", "tier=one")
    shown = {
        (row["resource_type"], row["resource_name"], row["name"], row["cluster_id"]): row["value"]
        for row in found
        if row["resource_type"] != 2
    }
    differing = {
        key for key in {*held[GOLDEN_CLUSTER], *held[other]} if held[GOLDEN_CLUSTER].get(key) != held[other].get(key)
    }
    assert differing
    expected = {(*key, cluster): held[cluster].get(key) for key in differing for cluster in (GOLDEN_CLUSTER, other)}
    assert shown == expected
    assert "elsewhere" in asking.said("at", "--fleet", str(fleet), "--label", "tier=two", code=2)


def test_since_leaves_out_what_was_over_before(asking: Asking) -> None:
    every = asking.rows("deleted-topics", "--cluster", GOLDEN_CLUSTER)
    middle = every[len(every) // 2]["deleted_at"]
    late = asking.rows("deleted-topics", "--cluster", GOLDEN_CLUSTER, "--since", middle)
    assert late == [row for row in every if row["deleted_at"] >= middle]
    assert 0 < len(late) < len(every)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nothing",), "there is no question nothing"),
        (("changed",), "give --from and --to"),
        (("changed", "--from", "1", "--to", "2"), "an offset is one cluster's"),
        (("short-isr-while",), "give --fenced BROKER"),
        (("leaders", "--cluster", "nobody's"), "the lake has no cluster nobody's"),
        (("leaders", "--since", "yesterday"), "'yesterday' is no ISO time"),
        (("leaders", "--label", "a=b"), "give --fleet"),
    ],
)
def test_what_cannot_be_asked_is_told_before_a_session_is_opened(
    words: tuple[str, ...], told: str, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("metadata_pipeline.session.open_session")
    assert told in asking.said(*words, code=2)
