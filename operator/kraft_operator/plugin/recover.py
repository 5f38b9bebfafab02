"""`kubectl kraft recover`: a lost quorum's copies and their verdict on the screen, and the approval by its hash.

It creates a KRaftOperation and reads its status; the operator does the rest. Nothing on any disk is changed before the
hash is given, on the command line or by whoever sits before the screen.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kraft_operator.api.names import ARCHIVE_NODE
from kraft_operator.kube import CLUSTER, OPERATION, Gateway
from kraft_operator.operations.operation import ANNOTATION_APPROVE, FINISHED, OperationType, Phase
from kraft_operator.plugin import stand_alone
from kraft_operator.plugin.view import table

Object = Mapping[str, Any]
POLL_SECONDS: Final = 1.0
TYPE: Final = OperationType.RECOVER_QUORUM.value


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    asked = commands.add_parser(
        "recover",
        parents=[common],
        help="a quorum that lost its majority: what is left of its log, and a new one made of it",
    )
    asked.add_argument("--approve", metavar="HASH", help="of the verdict that was shown")
    asked.add_argument("--timeout", type=float, default=900.0, help="seconds to wait for the operator, or for pods")
    stand_alone.add_options(asked)
    asked.set_defaults(run=_run)


def _run(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    if given.stand_alone:
        return stand_alone.run(given, kube, tell)
    if given.cluster is None:
        print("name the KRaftCluster, or judge claims by --stand-alone", file=sys.stderr)
        return 1
    given.namespace = given.namespace or "default"
    ask = input if sys.stdin.isatty() else None
    try:
        return recover(
            kube, given.namespace, given.cluster, approve=given.approve, timeout=given.timeout, tell=tell, ask=ask
        )
    except TimeoutError as error:
        print(error, file=sys.stderr)
        return 1


def recover(
    kube: Gateway, namespace: str, cluster: str, approve: str | None, timeout: float, tell: Callable[[str], None],
    ask: Callable[[str], str] | None = None,
) -> int:  # fmt: skip
    """0 when the quorum is whole again, or when the verdict was shown and nobody was asked; `ask` reads one line from a
    person.
    """
    kube.get(CLUSTER, namespace, cluster)
    operation = _unfinished(kube, namespace, cluster)
    if operation is None:
        if approve is not None:
            print(f"no recovery of {cluster} waits for approval: begin without --approve", file=sys.stderr)
            return 1
        meta = {"generateName": f"{cluster}-recover-", "namespace": namespace}
        body = {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": meta, "spec": _spec(cluster)}
        operation = kube.create(OPERATION, namespace, body)
        tell(
            f"KRaftOperation {operation['metadata']['name']} was created; the "
            "controllers are held while the copies are read"
        )
    name = operation["metadata"]["name"]
    found = _await(
        kube,
        namespace,
        name,
        timeout=timeout,
        tell=tell,
        enough=lambda phase: phase in FINISHED or phase is Phase.WAITING_APPROVAL,
    )
    if _phase(found) in FINISHED:
        return _ended(found, tell)
    verdict = found["status"]["verdict"]
    tell("\n".join(screen(found)))
    given = (
        approve if approve is not None else (ask("type the hash to approve it: ").strip() if ask is not None else "")
    )
    if not given:
        tell(f"to approve it: kubectl kraft recover {cluster} -n {namespace} --approve {verdict['hash']}")
        tell(f"to give it up: kubectl delete kraftoperation {name} -n {namespace}")
        return 0
    if given != verdict["hash"]:
        print(f"{given} is not the verdict's hash, which is {verdict['hash']}: nothing was approved", file=sys.stderr)
        return 1
    kube.annotate(OPERATION, namespace, name, {ANNOTATION_APPROVE: given}, uid=found["metadata"]["uid"])
    return _ended(
        _await(kube, namespace, name, timeout=timeout, tell=tell, enough=lambda phase: phase in FINISHED), tell
    )


def screen(operation: Object) -> Iterator[str]:
    """The verdict, and what it rests on."""
    verdict = operation["status"]["verdict"]
    yield f"verdict {verdict['verdict']}  (hash {verdict['hash']})"
    yield f"  {verdict['text']}"
    if "lostFrom" in verdict:
        yield f"  known to be committed and lost: offsets {verdict['lostFrom']} to {verdict['lostTo'] - 1}"
    head = ("node", "role", "directory", "last epoch", "end", "known", "heard of", "")
    rows = [
        (
            "archive" if each["nodeID"] == ARCHIVE_NODE else str(each["nodeID"]),
            each["role"], each["directoryID"], str(each["lastEpoch"]), str(each["end"]),
            str(each["known"]), str(each["promised"]), "<- the seed" if each["nodeID"] == verdict.get("seed") else "",
        )
        for each in verdict.get("copies") or ()
    ]  # fmt: skip
    yield from table(head, rows)


def _spec(cluster: str) -> dict[str, str]:
    return {"clusterName": cluster, "type": TYPE}


def _unfinished(kube: Gateway, namespace: str, cluster: str) -> Object | None:
    mine = [
        each
        for each in kube.list(OPERATION, namespace)
        if each["spec"] == _spec(cluster) and _phase(each) not in FINISHED
    ]
    return min(mine, key=lambda each: str(each["metadata"].get("creationTimestamp", "")), default=None)


def _phase(operation: Object) -> Phase:
    return Phase((operation.get("status") or {}).get("phase", Phase.PENDING.value))


def _await(
    kube: Gateway,
    namespace: str,
    name: str,
    timeout: float,
    tell: Callable[[str], None],
    enough: Callable[[Phase], bool],
) -> Object:
    """Tells each new message once."""
    deadline, said = time.monotonic() + timeout, ""
    while True:
        found = kube.get(OPERATION, namespace, name)
        phase, message = _phase(found), (found.get("status") or {}).get("message", "")
        if enough(phase):
            return found
        if message != said:
            tell(f"{phase.value}: {message}")
            said = message
        if time.monotonic() > deadline:
            raise TimeoutError(f"KRaftOperation {name} is {phase.value} after {timeout:g} s: {message}")
        time.sleep(POLL_SECONDS)


def _ended(operation: Object, tell: Callable[[str], None]) -> int:
    status, phase = operation["status"], _phase(operation)
    tell(f"{phase.value}: {status.get('proof') or status.get('message', '')}")
    return 0 if phase is Phase.SUCCEEDED else 1
