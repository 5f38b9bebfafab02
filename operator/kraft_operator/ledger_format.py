"""The ledger as bytes: what the ConfigMap `<cluster>-ledger` holds.

Key `ledger.json` is the operator's; each key `node-N.json` is that node's `Identity`, mounted read-only in its pod, so
that a known disk starts without the operator. Parsing and rendering, no API call. What was rendered parses to the same
ledger; anything else is a `CorruptLedger`, on which nothing is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kraft_operator.ledger import (
    MAX_NODES,
    BadRevision,
    Entry,
    Excuse,
    Formation,
    GivenUp,
    GoodRevision,
    JournaledStep,
    Ledger,
    Origin,
    Removal,
    RunningOperation,
    StepKind,
    WrittenOff,
)
from kraft_operator.operations.from_archive import parse as parse_formed_from
from kraft_operator.operations.from_archive import render as render_formed_from
from kraft_operator.operations.recovery import parse as parse_recovery
from kraft_operator.operations.recovery import render as render_recovery
from storage_guard.formats import BadFormat, Grant, identity_key

VERSION: Final = 1


LEDGER_KEY: Final = "ledger.json"


MAX_REMOVED: Final = 100_000
"""Ids in such ranges."""


class CorruptLedger(ValueError):
    """The ConfigMap does not hold a ledger of ours. Nothing may be done until a person has looked."""


def ranges_of_removed(ledger: Ledger) -> list[dict[str, Any]]:
    """First and last of each run of ids, by role and pool."""
    whole = {each.node_id for each in ledger.kept_whole}
    runs: dict[tuple[str, str], list[list[int]]] = {}
    for entry in ledger.entries:
        if entry.node_id in whole:
            continue
        ids = runs.setdefault((entry.role, entry.pool), [])
        if ids and ids[-1][1] == entry.node_id - 1:
            ids[-1][1] = entry.node_id
        else:
            ids.append([entry.node_id, entry.node_id])
    return [{"role": role, "pool": pool, "ids": ids} for (role, pool), ids in runs.items()]


def parse_ranges(values: Iterable[Mapping[str, Any]], written_off: Iterable[WrittenOff]) -> tuple[Entry, ...]:
    last = {each.node_id: each.directory_id for each in written_off}
    runs = [(each["role"], each["pool"], int(first), int(final)) for each in values for first, final in each["ids"]]
    if sum(max(0, final - first + 1) for _, _, first, final in runs) > MAX_REMOVED:
        raise CorruptLedger(f"there are more than {MAX_REMOVED} ids of removed nodes")
    return tuple(
        Entry(node_id, _text(role), _text(pool), retired=True, replaces=last.get(node_id))
        for role, pool, first, final in runs
        for node_id in range(first, final + 1)
    )


def removals_as_values(ledger: Ledger) -> list[list[Any]]:
    return [[each.pool, each.volume, each.gone, list(each.closed)] for each in ledger.removals]


def parse_removals(values: Iterable[Any]) -> tuple[Removal, ...]:
    return tuple(
        Removal(_text(pool), _text(volume), bool(gone), tuple(int(each) for each in closed))
        for pool, volume, gone, closed in values
    )


def render(ledger: Ledger) -> dict[str, str]:
    """The `data` of the ConfigMap."""
    identities = (entry.identity(ledger.cluster_id) for entry in ledger.entries)
    published = {identity_key(known.node_id): known.to_json() for known in identities if known}
    further = ((volume, entry.identity(ledger.cluster_id)) for volume, entry in ledger.volumes)
    published |= {identity_key(known.node_id, volume): known.to_json() for volume, known in further if known}
    return {LEDGER_KEY: json.dumps(_ledger(ledger), indent=1, ensure_ascii=False) + "\n", **published}


def parse(data: Mapping[str, str]) -> Ledger:
    text = data.get(LEDGER_KEY)
    if text is None:
        raise CorruptLedger(f"key {LEDGER_KEY} is missing")
    try:
        values = json.loads(text)
        if values.get("version") != VERSION:
            raise CorruptLedger(f"version {values.get('version')!r} is not known to this operator")
        ledger = _parsed(values)
    except (BadFormat, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, CorruptLedger):
            raise
        raise CorruptLedger(f"{LEDGER_KEY}: {type(error).__name__}: {error}") from error
    return ledger


def _ledger(ledger: Ledger) -> dict[str, Any]:
    return {
        "version": VERSION,
        "clusterID": ledger.cluster_id,
        "origin": ledger.origin.value,
        "formation": ledger.formation.value,
        "generation": ledger.generation,
        "initialControllers": list(ledger.initial_controllers),
        "controllers": list(ledger.controllers),
        "writtenOff": [_written_off(each) for each in ledger.written_off],
        "unprovenClaims": list(ledger.unproven_claims),
        "revisions": _revisions(ledger),
        "nodes": [_entry(entry) for entry in ledger.kept_whole],
        **({"removed": ranges} if (ranges := ranges_of_removed(ledger)) else {}),
        **({"volumes": [{"volume": name, **_entry(each)} for name, each in ledger.volumes]} if ledger.volumes else {}),
        "journal": [_step(step) for step in ledger.journal],
        **({"operation": _operation(ledger.operation)} if ledger.operation else {}),
        **({"recovery": render_recovery(ledger.recovery)} if ledger.recovery else {}),
        **({"restart": ledger.restart} if ledger.restart else {}),
        **({"givenUp": [_given_up(each) for each in ledger.given_up]} if ledger.given_up else {}),
        **({"doubted": list(ledger.doubted)} if ledger.doubted else {}),
        **({"cordoned": list(ledger.cordoned)} if ledger.cordoned else {}),
        **({"security": ledger.security} if ledger.security else {}),
        **({"users": list(ledger.users)} if ledger.users else {}),
        **({"replicationFactor": ledger.replication_factor} if ledger.replication_factor else {}),
        **({"removals": removals_as_values(ledger)} if ledger.removals else {}),
        **({"formedFrom": render_formed_from(ledger.formed_from)} if ledger.formed_from else {}),
        "serial": ledger.serial,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    values: dict[str, Any] = {
        "nodeID": entry.node_id,
        "role": entry.role,
        "pool": entry.pool,
        "chosenDirectoryID": entry.chosen_directory_id,
        "directoryID": entry.directory_id,
        "pvcName": entry.pvc_name,
        "pvcUID": entry.pvc_uid,
        "pvName": entry.pv_name,
        "nonce": entry.nonce,
        "minEpoch": entry.min_epoch or None,
        "minOffset": entry.min_offset or None,
        "rack": entry.rack,
        "retired": entry.retired or None,
        "grant": json.loads(entry.grant.to_json()) if entry.grant else None,
        "grantUsed": entry.grant_used or None,
        "replaces": entry.replaces,
        "host": list(entry.host) if entry.host else None,
    }
    return {key: value for key, value in values.items() if value is not None}


def _revisions(ledger: Ledger) -> dict[str, Any]:
    return {
        "good": [{"group": each.group, "revision": each.revision, "inputs": each.inputs} for each in ledger.good],
        "bad": [
            {"group": each.group, "revision": each.revision, "nodeID": each.node_id, "detail": each.detail}
            | ({"halted": True} if each.halted else {})
            | ({"patience": each.patience} if each.patience else {})
            for each in ledger.bad
        ],
        "excused": [
            {"group": each.group, "revision": each.revision, "nodeID": each.node_id} for each in ledger.excused
        ],
    }


def _written_off(lost: WrittenOff) -> dict[str, Any]:
    values = {
        "nodeID": lost.node_id,
        "directoryID": lost.directory_id,
        "pvcUID": lost.pvc_uid,
        "nonce": lost.nonce,
    }
    return {key: value for key, value in values.items() if value is not None}


def _given_up(gone: GivenUp) -> dict[str, Any]:
    values = {"nodeID": gone.node_id, "partitions": list(gone.only), "more": gone.more}
    return values | ({"lost": True} if gone.lost else {})


def _operation(running: RunningOperation) -> dict[str, Any]:
    values = {
        "uid": running.uid,
        "name": running.name,
        "type": running.type,
        "nodeID": running.node_id,
        "directoryID": running.directory_id,
    }
    return {key: value for key, value in values.items() if value is not None}


def _step(step: JournaledStep) -> dict[str, Any]:
    return {
        "kind": step.kind.value,
        "nodeID": step.node_id,
        "holder": step.holder,
        "leaseTransitions": step.transitions,
        "preconditions": list(step.preconditions),
    }


def _parsed(values: Mapping[str, Any]) -> Ledger:
    written_off = tuple(_parsed_written_off(each) for each in values.get("writtenOff", ()))
    whole = tuple(_parsed_entry(each) for each in values["nodes"])
    entries = (*whole, *parse_ranges(values.get("removed", ()), written_off))
    ids = [entry.node_id for entry in entries]
    if len(set(ids)) != len(ids) or len(whole) > MAX_NODES:
        raise CorruptLedger(f"node ids {ids[:20]} repeat or are too many")
    return Ledger(
        cluster_id=_text(values["clusterID"]),
        origin=Origin(values["origin"]),
        formation=Formation(values["formation"]),
        generation=int(values["generation"]),
        initial_controllers=tuple(int(each) for each in values["initialControllers"]),
        controllers=tuple(int(each) for each in values.get("controllers", ())),
        written_off=written_off,
        unproven_claims=tuple(_text(each) for each in values["unprovenClaims"]),
        entries=tuple(sorted(entries, key=lambda entry: entry.node_id)),
        volumes=tuple((_text(each["volume"]), _parsed_entry(each)) for each in values.get("volumes", ())),
        journal=tuple(_parsed_step(each) for each in values["journal"]),
        operation=_parsed_operation(values["operation"]) if values.get("operation") else None,
        recovery=parse_recovery(values["recovery"]) if values.get("recovery") else None,
        restart=str(values.get("restart", "")),
        given_up=tuple(
            GivenUp(
                int(each["nodeID"]),
                tuple(_text(name) for name in each["partitions"]),
                int(each["more"]),
                bool(each.get("lost")),
            )
            for each in values.get("givenUp", ())
        ),
        doubted=tuple(int(each) for each in values.get("doubted", ())),
        cordoned=tuple(int(each) for each in values.get("cordoned", ())),
        security=str(values.get("security", "")),
        users=tuple(_text(each) for each in values.get("users", ())),
        replication_factor=int(values.get("replicationFactor", 0)),
        removals=parse_removals(values.get("removals", ())),
        formed_from=parse_formed_from(values["formedFrom"]) if values.get("formedFrom") else None,
        serial=int(values.get("serial", 0)),
        **_parsed_revisions(values.get("revisions") or {}),
    )


def _parsed_revisions(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "good": tuple(
            GoodRevision(_text(each["group"]), _text(each["revision"]), _text(each["inputs"]))
            for each in values.get("good", ())
        ),
        "bad": tuple(
            BadRevision(
                _text(each["group"]),
                _text(each["revision"]),
                int(each["nodeID"]),
                detail=str(each.get("detail", "")),
                halted=bool(each.get("halted")),
                patience=float(each.get("patience", 0.0)),
            )
            for each in values.get("bad", ())
        ),
        "excused": tuple(
            Excuse(_text(each["group"]), _text(each["revision"]), int(each["nodeID"]))
            for each in values.get("excused", ())
        ),
    }


def _parsed_operation(values: Mapping[str, Any]) -> RunningOperation:
    node_id = values.get("nodeID")
    return RunningOperation(
        _text(values["uid"]),
        _text(values["name"]),
        _text(values["type"]),
        int(node_id) if node_id is not None else None,
        values.get("directoryID"),
    )


def _parsed_entry(values: Mapping[str, Any]) -> Entry:
    grant = values.get("grant")
    return Entry(
        node_id=int(values["nodeID"]),
        role=_text(values["role"]),
        pool=_text(values["pool"]),
        chosen_directory_id=values.get("chosenDirectoryID"),
        directory_id=values.get("directoryID"),
        pvc_name=values.get("pvcName"),
        pvc_uid=values.get("pvcUID"),
        pv_name=values.get("pvName"),
        nonce=values.get("nonce"),
        min_epoch=int(values.get("minEpoch", 0)),
        min_offset=int(values.get("minOffset", 0)),
        rack=values.get("rack"),
        retired=bool(values.get("retired")),
        grant=Grant.from_json(json.dumps(grant)) if grant else None,
        grant_used=bool(values.get("grantUsed")),
        replaces=values.get("replaces"),
        host=(_text(host[0]), _text(host[1])) if (host := values.get("host")) else None,
    )


def _parsed_written_off(values: Mapping[str, Any]) -> WrittenOff:
    return WrittenOff(int(values["nodeID"]), _text(values["directoryID"]), values.get("pvcUID"), values.get("nonce"))


def _parsed_step(values: Mapping[str, Any]) -> JournaledStep:
    return JournaledStep(
        StepKind(values["kind"]),
        int(values["nodeID"]),
        _text(values["holder"]),
        int(values["leaseTransitions"]),
        tuple(_text(each) for each in values["preconditions"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise CorruptLedger(f"text is needed, not {value!r}")
    return value
