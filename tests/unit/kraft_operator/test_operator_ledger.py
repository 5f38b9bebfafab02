"""The ledger as text: what is written is read back, what was tampered with is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import UUID

import pytest

from kraft_operator.api.parse import MAX_BROKERS
from kraft_operator.claim_memory import MAX_BYTES, kept
from kraft_operator.claim_memory import parse as recalled
from kraft_operator.claim_memory import render as remembered
from kraft_operator.ledger import MAX_NODES, Entry, Formation, JournaledStep, Ledger, Origin, StepKind, WrittenOff
from kraft_operator.ledger_format import LEDGER_KEY, CorruptLedger, parse, render
from storage_guard.formats import DiskVerdict, Grant, GrantMode, Identity, Seen

pytestmark = pytest.mark.unit

GRANT = Grant("pod-1", "pvc-1", "pv-1", 0, "C", GrantMode.INITIAL_CONTROLLERS, "N", Seen(DiskVerdict.EMPTY), "D")
ENTRY = Entry(
    0,
    "controller",
    "controller",
    "D",
    "D",
    "data-c-controller-0-0",
    "pvc-1",
    "pv-1",
    "N",
    3,
    120,
    "z1",
    grant=GRANT,
    grant_used=True,
)
STEP = JournaledStep(StepKind.GRANT, 0, "a", 4, ("pod-1", "pvc-1", "N"))
LEDGER = Ledger(
    "C",
    Origin.REBUILT,
    Formation.STARTED,
    2,
    (0, 1, 2),
    ("uid",),
    (ENTRY, Entry(100, "broker", "b", retired=True)),
    (STEP,),
)


def test_a_ledger_is_read_back_as_it_was_written() -> None:
    assert parse(render(LEDGER)) == LEDGER


def test_a_known_disk_is_published_for_its_pod_and_an_unknown_one_is_not() -> None:
    data = render(LEDGER)
    assert set(data) == {LEDGER_KEY, "node-0.json"}
    assert Identity.from_json(data["node-0.json"]) == Identity("C", 0, "D", "N", 3, 120, "z1")


def test_the_largest_ledger_fits_into_a_configmap_and_its_memory_into_the_annotations_of_a_claim() -> None:
    """As many brokers as a resource may ask for, each replaced once, every text as long as it may be; then as many
    again that were removed.
    """
    uid, drawn, far = str(UUID(int=1)), "A" * 22, 10**10
    grant = Grant(uid, uid, f"pvc-{uid}", 9999, drawn, GrantMode.BROKER, drawn, Seen(DiskVerdict.EMPTY), drawn)
    claim = f"data-{'c' * 36}-{'p' * 10}-9999-0"
    full = Entry(
        0, "broker", "p" * 10, drawn, drawn, claim, uid, f"pvc-{uid}", drawn, 10**6, far, "z" * 63, grant=grant,
        grant_used=True, replaces=drawn, host=("n" * 63, uid),
    )  # fmt: skip
    gone = Entry(0, "broker", "p" * 10, None, drawn, claim, uid, f"pvc-{uid}", drawn, retired=True)
    ids = range(1000, 1000 + MAX_BROKERS)
    lost = tuple(WrittenOff(each, drawn, uid, drawn) for each in ids)
    ledger = Ledger(drawn, entries=tuple(replace(full, node_id=each) for each in ids), written_off=lost)
    assert sum(len(key) + len(text) for key, text in render(ledger).items()) < 1024 * 1024 * 4 // 5
    assert len(remembered(ledger)) < MAX_BYTES
    removed = tuple(replace(gone, node_id=each + MAX_BROKERS) for each in ids)
    grown = replace(ledger, entries=(*ledger.entries, *removed[: MAX_NODES - MAX_BROKERS]), written_off=())
    assert parse(render(grown)) == grown
    assert sum(len(key) + len(text) for key, text in render(grown).items()) < 1024 * 1024
    assert len(remembered(grown)) < MAX_BYTES


def test_ids_of_removed_brokers_without_a_volume_are_ranges_and_fill_no_ledger() -> None:
    """Five thousand brokers came and went, some with a disk that was written off."""
    ids = [each for each in range(1000, 6001) if each != 3000]
    lost = tuple(WrittenOff(each, "D", "pvc", "N") for each in range(1000, 1100))
    gone = tuple(Entry(each, "broker", "b", retired=True, replaces="D" if each < 1100 else None) for each in ids)
    ledger = replace(LEDGER, entries=(ENTRY, *gone), written_off=lost, formation=Formation.FORMED)
    assert parse(render(ledger)) == ledger
    values = json.loads(render(ledger)[LEDGER_KEY])
    assert values["removed"] == [{"role": "broker", "pool": "b", "ids": [[1000, 2999], [3001, 6000]]}]
    assert len(values["nodes"]) == 1
    memory = recalled(remembered(ledger))
    assert memory is not None
    assert memory.entries == kept(ledger).entries
    assert len(remembered(ledger)) < MAX_BYTES


def test_more_removed_ids_than_a_ledger_may_have_are_refused() -> None:
    values = json.loads(render(LEDGER)[LEDGER_KEY])
    values["removed"] = [{"role": "broker", "pool": "b", "ids": [[1000, 2_000_000_000]]}]
    with pytest.raises(CorruptLedger, match="ids of removed"):
        parse({LEDGER_KEY: json.dumps(values)})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("version", 2, "version 2 is not known"),
        ("clusterID", "", "text is needed"),
        ("nodes", None, "TypeError"),
        ("formation", "Perhaps", "Perhaps"),
        ("journal", [{"kind": "Grant"}], "nodeID"),
    ],
)
def test_a_ledger_that_is_not_ours_is_refused_with_the_reason(key: str, value: object, words: str) -> None:
    values = json.loads(render(LEDGER)[LEDGER_KEY]) | {key: value}
    with pytest.raises(CorruptLedger, match=words):
        parse({LEDGER_KEY: json.dumps(values)})


def test_a_node_that_appears_twice_is_refused() -> None:
    values = json.loads(render(LEDGER)[LEDGER_KEY])
    values["nodes"] *= 2
    with pytest.raises(CorruptLedger, match="repeat"):
        parse({LEDGER_KEY: json.dumps(values)})


def test_a_missing_or_broken_text_is_refused() -> None:
    for data in ({}, {LEDGER_KEY: ""}, {LEDGER_KEY: "[]"}, {LEDGER_KEY: "{"}):
        with pytest.raises(CorruptLedger):
            parse(data)


def test_a_new_holder_writes_a_step_down_in_the_place_of_the_old_record() -> None:
    mine = replace(STEP, holder="b", transitions=5)
    assert LEDGER.with_step(mine).journal == (mine,)
    other = replace(STEP, preconditions=("pod-2", "pvc-1", "M"))
    assert LEDGER.with_step(other).journal == (STEP, other)
