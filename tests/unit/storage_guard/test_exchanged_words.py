"""The JSON that operator and guards exchange: it survives the way, is bounded, and never half understood."""

from __future__ import annotations

import json

import pytest

from storage_guard.facts import Journal, Passage, Way
from storage_guard.formats import (
    MAX_JSON_SIZE_BYTES,
    BadFormat,
    DiskVerdict,
    Grant,
    GrantMode,
    GuardStep,
    Identity,
    Marker,
    MarkerState,
    Report,
    Seen,
)

pytestmark = pytest.mark.unit

GRANT = Grant("uid", "pvc", "pv", 3, "c", GrantMode.INITIAL_CONTROLLERS, "n", Seen(DiskVerdict.EMPTY), "d", "old")
IDENTITY = Identity("c", 3, "d", "n", 4, 120, "zone-1")
MARKER = Marker(MarkerState.SEALED, "c", 3, "n", "uid", "d")
REPORT = Report(
    GuardStep.INSPECT, DiskVerdict.FORMATTED, "Known", "all is well", "uid", 3, "c", 3, "d", 4, 120, "n", "h"
)


def test_every_value_comes_back_as_it_was_sent() -> None:
    assert Grant.from_json(GRANT.to_json()) == GRANT
    assert Identity.from_json(IDENTITY.to_json()) == IDENTITY
    assert Identity.from_json(Identity("c", 0, "d").to_json()) == Identity("c", 0, "d")
    assert Marker.from_json(MARKER.to_json()) == MARKER
    assert Report.from_json(REPORT.to_json()) == REPORT
    journal = Journal(Passage(Way.FORMAT, "n", "d", "old"), ("a", "b"))
    assert Journal.from_json(journal.to_json()) == journal
    assert Journal.from_json(Journal().to_json()) == Journal()


def test_a_line_is_one_line_and_fits_into_a_termination_message() -> None:
    for text in ("ä\n", "\0", '"', "𝕂"):
        long = Report(
            GuardStep.INSPECT, DiskVerdict.FOREIGN, "UnknownData", text * 3000, "u" * 36, 9999, "c" * 22, 1, "d" * 22
        )
        assert "\n" not in long.to_json()
        assert len(long.to_json().encode()) <= MAX_JSON_SIZE_BYTES
        assert Report.from_json(long.to_json()).directory_id == "d" * 22


def test_a_field_of_a_later_release_is_ignored() -> None:
    values = json.loads(GRANT.to_json()) | {"later": 1}
    assert Grant.from_json(json.dumps(values)) == GRANT


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "an object is needed"),
        ("[" * 10_000, "not JSON"),
        ("x" * 20_000, "too many"),
        ('{"version":2}', "version 2 is not known"),
        ('{"version":1,"seen":{"verdict":"Empty"}}', "grant.podUID is missing"),
        (GRANT.to_json().replace('"uid"', "7"), "grant.podUID: text is needed"),
        (GRANT.to_json().replace('"nodeID":3', '"nodeID":"3"'), "grant.nodeID: a whole number is needed"),
        (GRANT.to_json().replace('"nodeID":3', '"nodeID":true'), "grant.nodeID: a whole number is needed"),
        (GRANT.to_json().replace("InitialControllers", "Everything"), "grant.mode: 'Everything' is none of"),
        (GRANT.to_json().replace('{"verdict":"Empty"}', "1"), "grant.seen: an object is needed"),
        (GRANT.to_json().replace('"Empty"', '"Nice"'), "grant.seen.verdict"),
    ],
)
def test_what_cannot_be_understood_is_refused_by_the_name_of_the_field(text: str, why: str) -> None:
    with pytest.raises(BadFormat, match=why):
        Grant.from_json(text)
