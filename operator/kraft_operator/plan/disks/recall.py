"""The second place of what must not be forgotten: written on the controllers' claims before it is acted upon, read when
the ledger is lost.

Both writes come before the act, the ledger first. Who dies between them leaves claims that are one write behind, and
has done nothing that they do not know; the next pass writes them. A ledger with a lower serial number than a claim's
memory is older than what it once said: somebody has put it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kraft_operator.actions import Remember
from kraft_operator.api import names
from kraft_operator.api.roles import controls
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.claim_memory import KEY, MAX_BYTES, UNKNOWN, kept, newest, parse, render
from kraft_operator.ephemeral import disk_of, is_ephemeral
from kraft_operator.ledger import Entry, Formation, Ledger
from kraft_operator.observed import Claim, Observed
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called

LEAP: Final = 1_000_000
"""Writes: a lost ledger may have been that many ahead of the claims' memory, which is written only when what it keeps
changes. A copy of it that is put back later is known as older by that.
"""


def remember(observed: Observed, ledger: Ledger) -> tuple[Remember, ...]:
    """Whatever a controller's claim does not know of this ledger, as it will be written."""
    lacking = _lacking(observed, ledger)
    text = render(ledger) if lacking else ""
    if not lacking or len(text.encode()) > MAX_BYTES:
        return ()
    claims = tuple((each.name, each.uid, each.version) for each in sorted(lacking, key=lambda each: each.name))
    return (Remember(claims, text, "what must not be forgotten has changed since they were written"),)


def find_the_memory_too_large(now: Situation) -> Verdict:
    """What a claim cannot hold is in the ledger only, and lost with it."""
    lacking = _lacking(now.observed, now.ledger) if now.ledger is not None else []
    if now.ledger is None or not lacking:
        return NOTHING
    size = len(render(now.ledger).encode())
    if size <= MAX_BYTES:
        return NOTHING
    message = (
        "delete the volume claims of removed brokers that are not needed any more, and save the ledger "
        f"{names.ledger_name(now.cluster.name)} until then: what has to outlive it has {size} bytes, and an "
        f"annotation of the controllers' claims holds {MAX_BYTES}"
    )
    return Verdict(findings=(Finding(Topic.STORAGE, "MemoryTooLarge", message, "ledger", stalled=True),))


def _lacking(observed: Observed, ledger: Ledger) -> list[Claim]:
    """Claims of controllers that do not know all that this ledger says."""
    if ledger.formation is not Formation.FORMED:
        return []
    known = kept(ledger)
    return [
        each
        for each in observed.claims
        if _remembers(each) and each.identity.get("cluster-id", ledger.cluster_id) == ledger.cluster_id
        if (memory := parse(each.identity.get(KEY, ""))) is None or kept(memory) != known
    ]


def remembered(claims: Iterable[Claim]) -> Ledger | None:
    """What the newest of them tells."""
    return newest(each.identity.get(KEY, "") for each in claims if _remembers(each))


def recalled(cluster: KRaftCluster, memory: Ledger, bearing: Iterable[Claim]) -> Ledger:
    """The ledger that the memory tells of, with what claims bear besides: they are annotated after it."""
    entries = [replace(each, pvc_name=_claim_of(cluster, each)) for each in memory.entries]
    ledger = replace(memory, entries=tuple(entries))
    for claim in bearing:
        entry, directory = ledger.entry(claim.node_id), claim.identity.get("directory-id")
        if directory is None or (entry is not None and entry.directory_id is not None):
            continue
        if claim.identity.get("node-id") == str(claim.node_id) and not ledger.is_written_off(claim.node_id, directory):
            ledger = ledger.with_entry(borne(claim, entry))
    nameless = {each.node_id for each in ledger.entries if not (each.directory_id or each.replaces or each.retired)}
    return replace(ledger, doubted=tuple(sorted(nameless | set(ledger.doubted))))


def borne(claim: Claim, entry: Entry | None = None) -> Entry:
    """A node as its claim's annotations tell of it."""
    return replace(
        entry or Entry(claim.node_id, claim.role, claim.pool),
        directory_id=claim.identity["directory-id"],
        pvc_name=claim.name,
        pvc_uid=claim.identity.get("pvc-uid", claim.uid),
        pv_name=claim.volume or None,
        nonce=claim.identity.get("nonce"),
    )


def unproven_nodes(now: Situation, known: Iterable[int]) -> tuple[int, ...]:
    """Nodes that may have had a disk of which no claim tells: those that the resource asks for, and those that have a
    set or a claim.
    """
    wanted = {node_id for group in now.cluster.spec.groups for node_id in group.node_ids}
    there = {each.node_id for each in now.observed.sets} | {each.node_id for each in now.observed.claims}
    return tuple(sorted((wanted | there) - set(known)))


def outdated(now: Situation) -> tuple[Ledger, Finding] | None:
    """A ledger that is older than what the claims remember of it."""
    ledger, memory = now.ledger, remembered(now.observed.claims)
    if ledger is None or memory is None or memory.cluster_id != ledger.cluster_id or memory.serial <= ledger.serial:
        return None
    message = (
        f"nothing to do, what the claims remember holds: the ledger {names.ledger_name(now.cluster.name)} was put "
        f"back from an older time (write {ledger.serial}, the claims know write {memory.serial}). "
        f"Not known any more: {UNKNOWN}"
    )
    again = counted_on(recalled(now.cluster, memory, now.observed.claims))
    return again, Finding(Topic.STORAGE, "LedgerOutdated", message, "ledger")


def counted_on(ledger: Ledger) -> Ledger:
    """One that was made again, under a serial number that none before it can have had."""
    return replace(ledger, serial=ledger.serial + LEAP)


def rebuilt(now: Situation, ledger: Ledger, *, complete: bool) -> Finding:
    """What a rebuild could not know."""
    lost = UNKNOWN if complete else f"directories that were written off, minimums, brokers that were removed, {UNKNOWN}"
    todo = "nothing to do"
    if ledger.doubted:
        who = called("node", ledger.doubted)
        todo = f"put back the disk that {who} may have had, or approve that an empty one is formatted"
    source = f"the controllers' claims (write {ledger.serial})" if complete else "the annotations of the claims alone"
    name = names.ledger_name(now.cluster.name)
    message = f"{todo}: the ledger {name} was missing and is made again from {source}. Not known any more: {lost}"
    return Finding(Topic.STORAGE, "LedgerRebuilt", message, "ledger")


def _remembers(claim: Claim) -> bool:
    """What goes with its pod is no place for what must not be forgotten."""
    return controls(claim) and not is_ephemeral(claim.name)


def _claim_of(cluster: KRaftCluster, entry: Entry) -> str | None:
    if entry.pvc_uid is None:
        return None
    if is_ephemeral(entry.pv_name):
        return disk_of(names.pod_name(cluster.name, entry.pool, entry.node_id))
    return names.claim_name(cluster.name, entry.pool, entry.node_id)
