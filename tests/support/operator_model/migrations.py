"""Runs in which a plaintext cluster becomes a secure one, and what has to hold at every moment of them.

What is judged are the files that the nodes of the model were started with: which listeners each has, which of them is
its default, and what the log says of the voters.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from support.operator_model.secure_runs import Calendar, SecureRun
from support.operator_model.world import World, resource
from support.operator_model.world_api import WorldApi
from support.operator_model.world_runs import KEY

QUIET: Final = "20s"
WAITS: Final = "waits"
STAGES: Final = ("Prepared", "Listening", "Turned", "Followed", "Replicating", "Closed", "Authorized", "Enforced")


def tls(mode: str) -> dict[str, Any]:
    return {"mode": mode, "migration": {"quiet": QUIET}}


def security(mode: str, authorization: str = "Transition") -> dict[str, Any]:
    return {"tls": tls(mode), "authorization": {"mode": authorization}}


def plaintext(**changes: object) -> SecureRun:
    """A cluster that is Ready."""
    found = _copied(_formed(repr(sorted(changes.items())), **changes) if changes else _default())
    found.settle()
    assert found.condition("Ready")["status"] == "True", found.condition("Ready")
    return found


def walked(to: str) -> SecureRun:
    """One that is `Migrating`, at the moment at which it reached this stage, with another process of its operator; or
    where it waits for its owner (`WAITS`). Runs that have the same way behind them share it.
    """
    return _copied(_walk()[to])


@cache
def _default() -> SecureRun:
    return _formed("")


@cache
def _walk() -> dict[str, SecureRun]:
    run, found = plaintext(), {}
    run.api.edit(security=security("Migrating"))
    for each in watched(run):
        found[each] = _copied(run)
    return {**found, WAITS: run}


def _copied(run: SecureRun) -> SecureRun:
    found = SecureRun(copy.deepcopy(run.api), copy.deepcopy(run.lease), run.now)
    found.calendar = Calendar()
    return found


def _formed(_: str, **changes: object) -> SecureRun:
    api = WorldApi(World(**changes))
    api.resource = {**api.resource, **resource(**changes)}
    run = SecureRun(api)
    run.calendar = Calendar()
    run.settle()
    return run


def stage(run: SecureRun) -> str:
    ledger = run.world.ledger
    assert ledger is not None
    return ledger.security.partition("/")[2]


def violations(run: SecureRun) -> Iterator[str]:
    """I1: every controller serves the default of every node. I2: and every voter's entry names it. The operator is
    understood wherever it asks. Brokers meet on a listener that all of them have.
    """
    world = run.world
    running = [node for node, pod in sorted(world.pods.items()) if pod.runs]
    files = {node: world.file(node) for node in running}
    controllers = [node for node in running if world.sets[node].role == "controller"]
    protocols: dict[str, str] = {}
    for node in running:
        mine = dict(each.split(":") for each in files[node]["listener.security.protocol.map"].split(","))
        for name, protocol in mine.items():
            if protocols.setdefault(name, protocol) != protocol:
                yield f"{name} is {protocol} at {node} and {protocols[name]} elsewhere"
        default = files[node]["controller.listener.names"].split(",")[0]
        for voter in controllers:
            if default not in listeners(files[voter]):
                yield f"I1: node {node} uses {default}, which controller {voter} does not serve"
        for voter in world.voters:
            if default not in {each[0] for each in world._endpoints(voter)}:
                yield f"I2: node {node} uses {default}, which the log does not name for voter {voter}"
    brokers = [node for node in running if world.sets[node].role == "broker"]
    for node in brokers:
        own = files[node]["inter.broker.listener.name"]
        yield from (f"broker {node} uses {own}, which broker {other} does not serve" for other in brokers
                    if own not in listeners(files[other]))  # fmt: skip
    yield from (f"the operator was not understood at {place}" for place in run.api.misunderstood)


def listeners(file: dict[str, str]) -> set[str]:
    return {each.partition("://")[0] for each in file["listeners"].split(",")}


def tick(run: SecureRun) -> bool:
    """One in which a way that goes on is not laid out anew, not by a new process either: it costs as much as ten."""
    process = run._process = run._process or run.process()
    process._memory(KEY, run.world.cluster).way_due = run.now + 1.0
    return run.tick()


def watched(run: SecureRun, most: int = 400, *, every_way: bool = False) -> Iterator[str]:
    """Tick by tick, until all is quiet for a while: the stages in the order in which they are reached."""
    quiet, seen = 0, stage(run)
    for _ in range(most):
        quiet = 0 if (run.tick() if every_way else tick(run)) else quiet + 1
        assert not (found := list(violations(run))), (stage(run), found)
        if stage(run) != seen:
            seen = stage(run)
            yield seen
        if quiet >= 12:
            return
    raise AssertionError(f"still moving at {seen}: {run.condition('CertificatesValid')}")
