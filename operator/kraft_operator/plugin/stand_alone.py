"""`kubectl kraft recover --stand-alone`: what is left of a quorum's log on any claims, and what would be lost.

It needs no operator, no resource definition and no ledger, and changes nothing: a pod for each claim, which mounts it
read-only, reads the copy twice and goes. The verdict is the one that a recovery goes by (lemmas L5 and L6).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kraft_operator.kube import CLAIM, POD, Gateway, KubeError
from kraft_operator.operations.survivors import CAVEAT, Findings, compared, findings, survivors, to_compare
from kraft_operator.operations.verdict import CopyRole
from kraft_operator.plugin.survey_pods import Reading, line, pod, reading_of, trouble
from kraft_operator.plugin.view import table
from storage_guard.copies import CopyReport, State
from storage_guard.formats import BadFormat

POLL_SECONDS: Final = 1.0
MAX_CLAIMS: Final = 200


class CannotAsk(ValueError):
    """What was asked for cannot be done; the message begins with the remedy."""


def add_options(asked: argparse.ArgumentParser) -> None:
    alone = asked.add_argument_group("without an installation")
    alone.add_argument("--stand-alone", action="store_true", help="judge copies on claims; read only, nothing is made")
    where = "a claim, and where its log directory is, if that is not to be searched for (repeatable)"
    alone.add_argument("--claim", action="append", default=[], metavar="NAME[:PATH]", help=where)
    alone.add_argument("-l", "--selector", help="the claims with these labels")
    alone.add_argument("--image", help="the operator's image, which reads")
    alone.add_argument("--run-as", metavar="UID[:GID]", help="who owns the files, where no running pod tells")
    alone.add_argument("--voters", metavar="ID,ID,…", help="of a quorum whose log does not tell them (static voters)")


def run(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    """0: the verdict was shown."""
    try:
        if given.cluster is not None:
            raise CannotAsk(f"leave {given.cluster} away, and name claims by --claim or -l: nobody's resource is read")
        if not given.image:
            raise CannotAsk("give --image: the operator's image, as this Kubernetes finds it")
        voters = _numbers(given.voters or "", "--voters")
        readings = _readings(kube, given.namespace or "default", given)
        where = kube, given.namespace or "default", given.image
        found = look(*where, readings, static_voters=voters, timeout=given.timeout)
    except CannotAsk as error:
        print(error, file=sys.stderr)
        return 1
    except KubeError as error:
        print(f"the API server refused: {error.message}", file=sys.stderr)
        return 1
    tell(json.dumps(as_json(found)) if given.output == "json" else "\n".join(screen(found)))
    return 0


def look(
    kube: Gateway, namespace: str, image: str, readings: Sequence[Reading], *, static_voters: Sequence[int],
    timeout: float,
) -> Findings:  # fmt: skip
    reports, failed = _ask(kube, namespace, image, {each: {} for each in readings}, timeout)
    found = survivors(reports, static_voters)
    blank = {claim: each for claim, each in reports.items() if each.state is State.EMPTY}
    if found:
        # Also when nothing has to be compared: a log that grows meanwhile is not that of a node that stopped.
        question, claims = to_compare(found), {each.claim for each in found}
        asked = {each: question for each in readings if each.claim in claims}
        again, missed = _ask(kube, namespace, image, asked, timeout)
        found, moved = compared(found, again)
        failed = {**failed, **missed, **moved}
    return findings(found, blank, failed)


def _readings(kube: Gateway, namespace: str, given: argparse.Namespace) -> list[Reading]:
    paths = dict(each.partition(":")[::2] for each in given.claim)
    if given.selector:
        paths |= {each["metadata"]["name"]: "" for each in kube.list(CLAIM, namespace, given.selector)}
    if not paths:
        raise CannotAsk("name the claims of the controllers: --claim NAME, or -l LABELS that some have")
    if len(paths) > MAX_CLAIMS:
        raise CannotAsk(f"name fewer claims: {len(paths)} are more than {MAX_CLAIMS}")
    there = {each["metadata"]["name"] for each in kube.list(CLAIM, namespace)}
    if unknown := sorted(set(paths) - there):
        raise CannotAsk(f"name claims of namespace {namespace}: it has no {', '.join(unknown)}")
    if wrong := sorted(each for each in paths.values() if each.startswith("/") or ".." in each.split("/")):
        raise CannotAsk(f"give paths below the volume's root, not {wrong[0]}")
    run_as = None
    if given.run_as:
        user, _, group = given.run_as.partition(":")
        user_id, group_id = _numbers(f"{user},{group or user}", "--run-as")
        if user_id == 0:
            raise CannotAsk("give --run-as another user than 0: the pods that read are no root")
        run_as = user_id, group_id
    pods = kube.list(POD, namespace)
    return [reading_of(claim, path, run_as, pods) for claim, path in sorted(paths.items())]


def _numbers(text: str, what: str) -> list[int]:
    parts = [each for each in text.split(",") if each]
    if not all(each.isdecimal() and len(each) < 11 for each in parts):
        raise CannotAsk(f"give {what} numbers, not {text}")
    return [int(each) for each in parts]


def _ask(
    kube: Gateway, namespace: str, image: str, asked: Mapping[Reading, Mapping[str, str]], timeout: float
) -> tuple[dict[str, CopyReport], dict[str, str]]:
    """A pod for each reading, all at once, and all gone afterwards: reports, and why there is none."""
    made: dict[str, tuple[Reading, str]] = {}
    reports: dict[str, CopyReport] = {}
    failed: dict[str, str] = {}
    try:
        for reading, question in asked.items():
            item = kube.create(POD, namespace, pod(namespace, image, reading, question))
            made[item["metadata"]["name"]] = reading, item["metadata"]["uid"]
        waiting = dict(made)
        deadline = time.monotonic() + timeout
        while waiting:
            for name, (reading, _) in list(waiting.items()):
                item = kube.get(POD, namespace, name)
                if (said := line(item)) is not None:
                    del waiting[name]
                    _note(reading, said, reports, failed)
                elif time.monotonic() > deadline:
                    del waiting[name]
                    failed[reading.claim] = f"its pod did not run within {timeout:g} s: {trouble(item) or 'no reason'}"
            if waiting:
                time.sleep(POLL_SECONDS)
    finally:
        for name, (_, uid) in made.items():
            _delete(kube, namespace, name, uid)
    return reports, failed


def _note(reading: Reading, said: tuple[bool, str], reports: dict[str, CopyReport], failed: dict[str, str]) -> None:
    succeeded, text = said
    if not succeeded:
        hint = "give --run-as UID[:GID] of who owns the files: " if "ermission denied" in text else ""
        failed[reading.claim] = f"{hint}{text}"
        return
    try:
        reports[reading.claim] = CopyReport.from_json(text)
    except BadFormat as error:
        failed[reading.claim] = f"give --image the operator's image of this version: {error}"


def _delete(kube: Gateway, namespace: str, name: str, uid: str) -> None:
    try:
        kube.delete(POD, namespace, name, uid=uid)
    except KubeError as error:
        print(f"delete pod {name} in namespace {namespace} yourself: {error}", file=sys.stderr)


def screen(found: Findings) -> Iterator[str]:
    verdict = found.verdict
    yield f"verdict {verdict.judged.value}"
    yield f"  {verdict.text}"
    if verdict.lost is not None:
        yield f"  known to be committed and lost: offsets {verdict.lost[0]} to {verdict.lost[1] - 1}"
    head = ("claim", "node", "role", "directory", "last epoch", "end", "known", "heard of", "")
    rows = [
        (
            each.claim, str(each.copy.node_id), "Voter" if each.copy.role is CopyRole.VOTER else "Observer",
            each.copy.directory_id, str(each.copy.last_epoch), str(each.copy.end), str(each.copy.known),
            str(each.copy.promised), "<- the best copy" if each.copy is verdict.seed else "",
        )
        for each in found.survivors
    ]  # fmt: skip
    yield from table(head, rows)
    for node_id, directory in found.missing:
        yield f"  voter {node_id} (directory {directory or 'unknown'}): no claim holds it"
    for claim in found.empty:
        yield f"  claim {claim}: it holds no metadata log"
    for claim, node_id, directory in found.never_ran:
        text = f"formatted for node {node_id} (directory {directory}), and holds no record"
        yield f"  claim {claim}: {text}: no node ran on it, or its log is gone"
    for claim, why in sorted(found.failed.items()):
        yield f"  claim {claim}: counts as lost: {why}"
    yield f"  {CAVEAT}"


def as_json(found: Findings) -> dict[str, Any]:
    verdict = found.verdict
    return {
        "verdict": verdict.judged.value,
        "text": verdict.text,
        "seed": next((each.claim for each in found.survivors if each.copy is verdict.seed), None),
        "lost": list(verdict.lost) if verdict.lost is not None else None,
        "copies": [
            {
                "claim": each.claim, "nodeID": each.copy.node_id, "directoryID": each.copy.directory_id,
                "voter": each.copy.role is CopyRole.VOTER, "lastEpoch": each.copy.last_epoch, "end": each.copy.end,
                "known": each.copy.known, "promised": each.copy.promised,
            }
            for each in found.survivors
        ],
        "missingVoters": [{"nodeID": node_id, "directoryID": directory} for node_id, directory in found.missing],
        "empty": list(found.empty),
        "neverRan": [{"claim": each, "nodeID": node, "directoryID": known} for each, node, known in found.never_ran],
        "failed": dict(found.failed),
        "caveat": CAVEAT,
    }  # fmt: skip
