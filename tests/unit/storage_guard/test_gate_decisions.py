"""What the guard decides, case by case: (disk, ledger, pod) -> verdict, and whether the gate opens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from storage_guard.facts import (
    DirectoryIdentity,
    Journal,
    LedgerFacts,
    LogEnd,
    Passage,
    PodFacts,
    VolumeFacts,
    Way,
)
from storage_guard.formats import (
    NO_INITIAL_CONTROLLERS,
    DiskVerdict,
    Grant,
    GrantMode,
    Identity,
    Marker,
    MarkerState,
    Seen,
    format_argument,
)
from storage_guard.judge import Judgement, judge
from storage_guard.passage import Hold, Sealed, decide, granted_marker, seal

pytestmark = pytest.mark.unit

CLUSTER, OTHER = "4L6g3nShT-eMCtK--X86sw", "5L6g3nShT-eMCtK--X86sw"
D1, D2 = "AAAAAAAAAAkAAAAAAAAD8Q", "AAAAAAAAAAkAAAAAAAAD9Q"
POD = PodFacts("pod-1", 1, CLUSTER, is_controller=True, format_mode=NO_INITIAL_CONTROLLERS)
NOWHERE = LedgerFacts()
KNOWN = LedgerFacts(Identity(CLUSTER, 1, D1, "x", min_epoch=3, min_offset=100))
EMPTY = VolumeFacts()
DISK = DirectoryIdentity(CLUSTER, 1, D1)
SEALED = Marker(MarkerState.SEALED, CLUSTER, 1, "x", "pod-0", D1)
GRANTED = Marker(MarkerState.GRANTED, CLUSTER, 1, "x", "pod-0")
WHOLE = VolumeFacts(DISK, SEALED, LogEnd(3, 100))


def grant(**changes: Any) -> Grant:
    usual = Grant("pod-1", "pvc", "pv", 1, CLUSTER, GrantMode.NO_INITIAL_CONTROLLERS, "new", Seen(DiskVerdict.EMPTY))
    return replace(usual, **changes)


def look(volume: VolumeFacts, ledger: LedgerFacts = NOWHERE, pod: PodFacts = POD) -> Judgement:
    return judge(volume, ledger, pod)


def gate(
    volume: VolumeFacts, ledger: LedgerFacts = NOWHERE, pod: PodFacts = POD, journal: Journal | None = None
) -> Passage | Hold:
    return decide(look(volume, ledger, pod), ledger, pod, journal or Journal(), volume)


@pytest.mark.parametrize(
    ("volume", "ledger", "verdict", "reason"),
    [
        (EMPTY, NOWHERE, DiskVerdict.EMPTY, "NeverFormatted"),
        (EMPTY, KNOWN, DiskVerdict.EMPTY, "DiskLost"),
        (VolumeFacts(marker=SEALED), NOWHERE, DiskVerdict.EMPTY, "DiskEmptied"),
        (VolumeFacts(marker=GRANTED), NOWHERE, DiskVerdict.UNFINISHED, "FormatInterrupted"),
        (VolumeFacts(marker=GRANTED, leftovers=("bootstrap.checkpoint",)), NOWHERE, DiskVerdict.UNFINISHED,
            "FormatInterrupted"),
        (VolumeFacts(DISK, GRANTED), NOWHERE, DiskVerdict.UNFINISHED, "FormatNotSealed"),
        (VolumeFacts(leftovers=("bootstrap.checkpoint",)), NOWHERE, DiskVerdict.FOREIGN, "UnknownData"),
        (VolumeFacts(strangers=("kafka-log0",)), NOWHERE, DiskVerdict.FOREIGN, "UnknownData"),
        (VolumeFacts(marker=SEALED, log_end=LogEnd(1, 9)), NOWHERE, DiskVerdict.UNREADABLE, "IdentityLost"),
        (WHOLE, KNOWN, DiskVerdict.FORMATTED, "Known"),
        (WHOLE, NOWHERE, DiskVerdict.FORMATTED, "NotInLedger"),
        (VolumeFacts(DISK), NOWHERE, DiskVerdict.FORMATTED, "NotInLedger"),
        (VolumeFacts(replace(DISK, cluster_id=OTHER)), NOWHERE, DiskVerdict.FOREIGN, "DirectoryOfAnother"),
        (VolumeFacts(replace(DISK, node_id=2)), NOWHERE, DiskVerdict.FOREIGN, "DirectoryOfAnother"),
        (VolumeFacts(replace(DISK, directory_id=None)), NOWHERE, DiskVerdict.FOREIGN, "NoDirectoryID"),
        (VolumeFacts(replace(DISK, directory_id=D2)), KNOWN, DiskVerdict.FOREIGN, "OtherDirectory"),
        (VolumeFacts(replace(DISK, directory_id=D2), SEALED), NOWHERE, DiskVerdict.FOREIGN, "OtherDirectory"),
        (VolumeFacts(DISK, replace(SEALED, node_id=2)), KNOWN, DiskVerdict.FOREIGN, "MarkerOfAnother"),
        (VolumeFacts(DISK, SEALED, LogEnd(3, 99)), KNOWN, DiskVerdict.REGRESSED, "OldCopy"),
        (VolumeFacts(DISK, SEALED, LogEnd(2, 999)), KNOWN, DiskVerdict.REGRESSED, "OldCopy"),
        (VolumeFacts(DISK, SEALED, None), KNOWN, DiskVerdict.REGRESSED, "OldCopy"),
        (VolumeFacts(DISK, SEALED, LogEnd(4, 1)), KNOWN, DiskVerdict.FORMATTED, "Known"),
        (VolumeFacts(DISK, GRANTED, LogEnd(3, 100)), KNOWN, DiskVerdict.REGRESSED, "OldCopy"),
        (VolumeFacts(DISK, replace(SEALED, nonce="y"), LogEnd(3, 100)), KNOWN, DiskVerdict.REGRESSED, "OldCopy"),
        (VolumeFacts(DISK, GRANTED, LogEnd(1, 1)), NOWHERE, DiskVerdict.UNREADABLE, "RanUnsealed"),
        (VolumeFacts(problem="I/O error"), KNOWN, DiskVerdict.UNREADABLE, "CannotRead"),
        (WHOLE, LedgerFacts(problem="not JSON"), DiskVerdict.UNREADABLE, "LedgerUnreadable"),
        (WHOLE, LedgerFacts(Identity(CLUSTER, 2, D1)), DiskVerdict.UNREADABLE, "LedgerForAnother"),
    ],
)  # fmt: skip
def test_a_volume_is_judged(volume: VolumeFacts, ledger: LedgerFacts, verdict: DiskVerdict, reason: str) -> None:
    found = look(volume, ledger)
    assert (found.verdict, found.reason) == (verdict, reason)


def test_the_ledgers_own_directory_starts_without_any_grant() -> None:
    assert gate(WHOLE, KNOWN) == Passage(Way.START, "x", D1)


def test_an_empty_volume_waits_for_a_grant() -> None:
    assert gate(EMPTY) == Hold("AwaitingGrant", "the volume is empty")


@pytest.mark.parametrize(("volume", "ledger"), [(EMPTY, KNOWN), (VolumeFacts(marker=SEALED), NOWHERE)])
def test_a_volume_that_lost_its_directory_says_that_formatting_is_refused(
    volume: VolumeFacts, ledger: LedgerFacts
) -> None:
    outcome = gate(volume, ledger)
    assert isinstance(outcome, Hold)
    assert outcome.reason == "FormatRefused"
    assert D1 in outcome.message


def test_a_grant_for_this_pod_and_this_state_opens_the_gate() -> None:
    assert gate(EMPTY, pod=replace(POD, grant=grant())) == Passage(Way.FORMAT, "new")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"pod_uid": "pod-0"}, "the grant is for pod pod-0"),
        ({"node_id": 2}, "the grant is for node 2"),
        ({"cluster_id": OTHER}, f"the grant is for cluster {OTHER}"),
        ({"seen": Seen(DiskVerdict.UNFINISHED, None, "x")}, "the grant is for a volume that was Unfinished"),
        ({"mode": GrantMode.BROKER}, "the grant is for a broker"),
        ({"mode": GrantMode.ADOPT}, "the grant adopts a directory"),
        ({"mode": GrantMode.INITIAL_CONTROLLERS, "directory_id": D1}, "the pod for '--no-initial-controllers'"),
    ],
)
def test_a_grant_for_anything_else_is_void(changes: dict[str, Any], why: str) -> None:
    outcome = gate(EMPTY, pod=replace(POD, grant=grant(**changes)))
    assert isinstance(outcome, Hold)
    assert outcome.reason == "GrantVoid"
    assert why in outcome.message


def test_a_grant_that_cannot_be_read_holds_the_pod() -> None:
    assert gate(EMPTY, pod=replace(POD, grant_problem="not JSON")) == Hold("GrantUnreadable", "not JSON")
    assert gate(WHOLE, pod=replace(POD, grant_problem="not JSON")) == Hold("GrantUnreadable", "not JSON")


def test_an_initial_controller_needs_its_directory_id_in_the_argument() -> None:
    initial = grant(mode=GrantMode.INITIAL_CONTROLLERS, directory_id=D1)

    def with_list(text: str, given: Grant = initial) -> Passage | Hold:
        mode = format_argument(GrantMode.INITIAL_CONTROLLERS, text)
        return gate(EMPTY, pod=replace(POD, grant=given, format_mode=mode))

    assert with_list(f"0@a:9093:{D2},1@b:9093:{D1}") == Passage(Way.FORMAT, "new", D1)
    assert isinstance(with_list(f"0@a:9093:{D2},1@b:9093:{D2}"), Hold)
    assert isinstance(with_list(f"11@b:9093:{D1}"), Hold)
    assert isinstance(with_list(f"1@b:9093:{D1}", replace(initial, directory_id=None)), Hold)


def test_a_broker_takes_only_a_brokers_grant() -> None:
    broker = replace(POD, is_controller=False, format_mode="")
    assert gate(EMPTY, pod=replace(broker, grant=grant(mode=GrantMode.BROKER))) == Passage(Way.FORMAT, "new")
    assert isinstance(gate(EMPTY, pod=replace(broker, grant=grant())), Hold)


def test_a_lost_disk_is_formatted_only_by_a_grant_that_retires_the_old_directory() -> None:
    assert isinstance(gate(EMPTY, KNOWN, replace(POD, grant=grant())), Hold)
    assert isinstance(gate(EMPTY, KNOWN, replace(POD, grant=grant(replaces=D2))), Hold)
    assert isinstance(gate(EMPTY, KNOWN, replace(POD, grant=grant(replaces=D1, directory_id=D1))), Hold)
    assert gate(EMPTY, KNOWN, replace(POD, grant=grant(replaces=D1))) == Passage(Way.FORMAT, "new", None, D1)


def test_an_interrupted_formatting_goes_on_by_the_same_grant_and_by_a_new_one_that_saw_it() -> None:
    begun = VolumeFacts(marker=replace(GRANTED, nonce="new"), leftovers=("bootstrap.checkpoint",))
    assert gate(begun, pod=replace(POD, grant=grant())) == Passage(Way.FORMAT, "new")
    stale = grant(nonce="newer")
    assert isinstance(gate(begun, pod=replace(POD, grant=stale)), Hold)
    seen = replace(stale, seen=Seen(DiskVerdict.UNFINISHED, None, "new"))
    assert gate(begun, pod=replace(POD, grant=seen)) == Passage(Way.FORMAT, "newer")


def test_a_formatted_but_unsealed_directory_keeps_its_id() -> None:
    unsealed = VolumeFacts(DISK, replace(GRANTED, nonce="new"))
    assert gate(unsealed, pod=replace(POD, grant=grant())) == Passage(Way.FORMAT, "new", D1)
    other = grant(mode=GrantMode.INITIAL_CONTROLLERS, directory_id=D2)
    mode = format_argument(GrantMode.INITIAL_CONTROLLERS, f"1@b:9093:{D2}")
    assert isinstance(gate(unsealed, pod=replace(POD, grant=other, format_mode=mode)), Hold)


def test_a_volume_emptied_after_its_seal_is_not_formatted_again_by_the_same_grant() -> None:
    outcome = gate(EMPTY, pod=replace(POD, grant=grant()), journal=Journal(sealed=("new",)))
    assert isinstance(outcome, Hold)
    assert outcome.reason == "FormatRefused"


def test_a_pod_that_sealed_its_directory_starts_again_before_the_operator_wrote_the_ledger() -> None:
    mine = VolumeFacts(DISK, replace(SEALED, nonce="new", pod_uid="pod-1"))
    pod = replace(POD, grant=grant())
    assert gate(mine, pod=pod) == Passage(Way.START, "new", D1)
    of_another_pod = VolumeFacts(DISK, replace(SEALED, nonce="new", pod_uid="pod-0"))
    assert isinstance(gate(of_another_pod, pod=pod), Hold)


def test_a_directory_that_the_ledger_does_not_know_is_adopted_by_name_only() -> None:
    adopt = grant(mode=GrantMode.ADOPT, seen=Seen(DiskVerdict.FORMATTED, D1, "x"), directory_id=D1)
    assert gate(WHOLE, pod=replace(POD, grant=adopt)) == Passage(Way.ADOPT, "x", D1)
    assert isinstance(gate(WHOLE, pod=replace(POD, grant=replace(adopt, directory_id=D2))), Hold)
    assert isinstance(gate(WHOLE, pod=replace(POD, grant=replace(adopt, pod_uid="pod-0"))), Hold)
    assert isinstance(gate(WHOLE), Hold)


@pytest.mark.parametrize(
    "volume", [VolumeFacts(problem="x"), VolumeFacts(strangers=("a",)), VolumeFacts(DISK, SEALED, None)]
)
def test_no_grant_opens_the_gate_for_what_is_foreign_old_or_unreadable(volume: VolumeFacts) -> None:
    found = look(volume, KNOWN if volume.identity else NOWHERE)
    for mode in GrantMode:
        given = grant(mode=mode, seen=found.seen, directory_id=D1, replaces=D1)
        outcome = gate(volume, KNOWN if volume.identity else NOWHERE, replace(POD, grant=given))
        assert outcome == Hold(found.reason, found.message)


def test_the_seal_is_for_exactly_what_was_let_through() -> None:
    fresh = VolumeFacts(DISK, granted_marker(Passage(Way.FORMAT, "new"), POD))
    sealed = seal(fresh, POD, Journal(Passage(Way.FORMAT, "new")))
    assert sealed == Sealed(Marker(MarkerState.SEALED, CLUSTER, 1, "new", "pod-1", D1))


@pytest.mark.parametrize(
    ("volume", "passage", "reason"),
    [
        (VolumeFacts(DISK), None, "NotPassed"),
        (EMPTY, Passage(Way.FORMAT, "new"), "NotFormatted"),
        (VolumeFacts(replace(DISK, node_id=2)), Passage(Way.FORMAT, "new"), "DirectoryOfAnother"),
        (VolumeFacts(DISK), Passage(Way.START, "x", D2), "OtherDirectory"),
        (VolumeFacts(DISK), Passage(Way.FORMAT, "new", D2), "OtherDirectory"),
        (VolumeFacts(DISK), Passage(Way.FORMAT, "new", None, D1), "OldDirectory"),
        (VolumeFacts(problem="torn"), Passage(Way.START, "x", D1), "CannotRead"),
    ],
)
def test_the_seal_holds_a_directory_that_is_not_what_was_let_through(
    volume: VolumeFacts, passage: Passage | None, reason: str
) -> None:
    outcome = seal(volume, POD, Journal(passage))
    assert isinstance(outcome, Hold)
    assert outcome.reason == reason
