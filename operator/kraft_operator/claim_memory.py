"""What must not be forgotten when the ledger is lost, as the controllers' claims keep it.

The second place is the annotation `kraft.quorate.dev/memory` on the claim of every controller, equal on all of them. It
lives as long as the data that it protects: `kubectl delete configmap --all` and a deletion by label leave claims alone,
and who deletes every controller's claim leaves nothing that could be forgotten. It holds the ledger without what can be
seen again or costs no data (the journal, grants under way, revisions, racks, hosts), under the serial number that the
ledger had when any of it changed last. It is written after the ledger and before whatever the ledger permits, so of
what it keeps it is at most one write behind, and what it lacks was not acted upon. Only ledgers of a formed quorum are
kept: before that nothing can be lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from kraft_operator.api.roles import BROKER, COMBINED, CONTROLLER, controls, serves
from kraft_operator.ledger import Entry, Formation, GivenUp, Ledger, Origin, RunningOperation, WrittenOff
from kraft_operator.ledger_format import (
    CorruptLedger,
    parse_ranges,
    parse_removals,
    ranges_of_removed,
    removals_as_values,
)
from kraft_operator.operations.recovery import parse as parse_recovery
from kraft_operator.operations.recovery import render as render_recovery
from storage_guard.formats import BadFormat

KEY: Final = "memory"
"""The annotation, below our prefix."""
MAX_BYTES: Final = 240 * 1024
"""All annotations of an object together may have 256 KiB."""
UNKNOWN: Final = "grants that were under way, and which revisions of the pods were good or bad"
"""What no memory holds."""


def kept(ledger: Ledger) -> Ledger:
    """The ledger as far as it is remembered. Two that agree in it need not be written down twice."""
    return Ledger(
        ledger.cluster_id,
        Origin.REBUILT,
        Formation.FORMED,
        ledger.generation,
        ledger.initial_controllers,
        entries=tuple(_kept(entry) for entry in ledger.entries),
        controllers=ledger.controllers,
        written_off=ledger.written_off,
        operation=ledger.operation,
        recovery=ledger.recovery,
        restart=ledger.restart,
        given_up=ledger.given_up,
        doubted=ledger.doubted,
        cordoned=ledger.cordoned,
        removals=ledger.removals,
        security=ledger.security,
        users=ledger.users,
        replication_factor=ledger.replication_factor,
    )


def render(ledger: Ledger) -> str:
    """Of a ledger that is written with this serial number."""
    known = kept(ledger)
    values: dict[str, Any] = {
        "version": 1,
        "serial": ledger.serial,
        "clusterID": known.cluster_id,
        "generation": known.generation,
        "initial": list(known.initial_controllers),
        "controllers": list(known.controllers),
        "doubted": list(known.doubted),
        "nodes": [_entry(entry) for entry in known.kept_whole],
        "writtenOff": [[each.node_id, each.directory_id, each.pvc_uid, each.nonce] for each in known.written_off],
    }
    values |= {"restart": known.restart} if known.restart else {}
    values |= {"removed": ranges} if (ranges := ranges_of_removed(known)) else {}
    values |= {"cordoned": list(known.cordoned)} if known.cordoned else {}
    values |= {"removals": removals_as_values(known)} if known.removals else {}
    values |= {"security": known.security} if known.security else {}
    values |= {"users": list(known.users)} if known.users else {}
    values |= {"replicationFactor": known.replication_factor} if known.replication_factor else {}
    values |= (
        {"givenUp": [[each.node_id, list(each.only), each.more, each.lost] for each in known.given_up]}
        if known.given_up
        else {}
    )
    if (running := known.operation) is not None:
        values["operation"] = [running.uid, running.name, running.type, running.node_id, running.directory_id]
    if known.recovery is not None:
        values["recovery"] = render_recovery(known.recovery)
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False)


@lru_cache(16)
def parse(text: str) -> Ledger | None:
    """The ledger that it tells of; None for what is no memory of ours. The claims of a cluster bear the same one."""
    try:
        values = json.loads(text)
        if values["version"] != 1:
            return None
        return _parsed(values)
    except (CorruptLedger, BadFormat, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def newest(texts: Iterable[str]) -> Ledger | None:
    """A claim that was left behind, or put back from a backup, has an older one."""
    found = [each for each in map(parse, texts) if each is not None]
    return max(found, key=lambda each: each.serial, default=None)


def _kept(entry: Entry) -> Entry:
    """An id that was chosen for the first quorum is of interest only as long as the node has another one."""
    chosen = entry.chosen_directory_id if entry.chosen_directory_id != entry.directory_id else None
    return Entry(
        entry.node_id, entry.role, pool=entry.pool, chosen_directory_id=chosen, directory_id=entry.directory_id,
        pvc_name=None, pvc_uid=entry.pvc_uid, pv_name=entry.pv_name,
        nonce=entry.nonce, min_epoch=entry.min_epoch, min_offset=entry.min_offset, retired=entry.retired,
        replaces=entry.replaces,
    )  # fmt: skip


def _entry(entry: Entry) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": entry.node_id,
        "pool": entry.pool,
        "broker": not controls(entry) or None,
        "combined": (controls(entry) and serves(entry)) or None,
        "dir": entry.directory_id,
        "chosen": entry.chosen_directory_id,
        "claim": entry.pvc_uid,
        "pv": (entry.pv_name or "") if entry.pv_name != _dynamic(entry.pvc_uid) else None,
        "nonce": entry.nonce,
        "min": [entry.min_epoch, entry.min_offset] if entry.min_offset or entry.min_epoch else None,
        "retired": entry.retired or None,
        "replaces": entry.replaces,
    }
    return {key: value for key, value in values.items() if value is not None}


def _parsed(values: Mapping[str, Any]) -> Ledger:
    recovery = parse_recovery(values["recovery"]) if values.get("recovery") else None
    written_off = tuple(
        WrittenOff(int(node), str(directory), claim, nonce) for node, directory, claim, nonce in values["writtenOff"]
    )
    entries = (*map(_parsed_entry, values["nodes"]), *parse_ranges(values.get("removed", ()), written_off))
    return Ledger(
        str(values["clusterID"]),
        Origin.REBUILT,
        Formation.FORMED,
        int(values["generation"]),
        tuple(int(each) for each in values["initial"]),
        entries=tuple(sorted(entries, key=lambda entry: entry.node_id)),
        controllers=tuple(int(each) for each in values["controllers"]),
        written_off=written_off,
        operation=RunningOperation(*values["operation"]) if values.get("operation") else None,
        recovery=recovery,
        restart=str(values.get("restart", "")),
        given_up=tuple(
            GivenUp(int(node), tuple(only), int(more), any(lost))
            for node, only, more, *lost in values.get("givenUp", ())
        ),
        doubted=tuple(int(each) for each in values["doubted"]),
        cordoned=tuple(int(each) for each in values.get("cordoned", ())),
        removals=parse_removals(values.get("removals", ())),
        security=str(values.get("security", "")),
        users=tuple(str(each) for each in values.get("users", ())),
        replication_factor=int(values.get("replicationFactor", 0)),
        serial=int(values["serial"]),
    )


def _parsed_entry(values: Mapping[str, Any]) -> Entry:
    claim = values.get("claim")
    epoch, offset = values.get("min", (0, 0))
    return Entry(
        int(values["id"]),
        (COMBINED if values.get("combined") else BROKER if values.get("broker") else CONTROLLER).label,
        str(values["pool"]),
        chosen_directory_id=values.get("chosen"),
        directory_id=values.get("dir"),
        pvc_uid=claim,
        pv_name=values.get("pv", _dynamic(claim)) or None,
        nonce=values.get("nonce"),
        min_epoch=int(epoch),
        min_offset=int(offset),
        retired=bool(values.get("retired")),
        replaces=values.get("replaces"),
    )


def _dynamic(claim: str | None) -> str | None:
    """The name of a volume that was provisioned for this claim: not worth two hundred kilobytes on each of seven
    claims.
    """
    return f"pvc-{claim}" if claim is not None else None
