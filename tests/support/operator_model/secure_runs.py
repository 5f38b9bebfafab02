"""Runs of a secure cluster over the model of Kubernetes, with a calendar; certificates are real ones."""

from __future__ import annotations

import copy
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from kraft_operator.security.certificates import Facts, Issuer, facts
from support.operator_model.world import World, resource
from support.operator_model.world_api import WorldApi
from support.operator_model.world_runs import Run

SECURE: Final = {"security": {"tls": {"mode": "Required"}}}
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Calendar:
    def __init__(self) -> None:
        self.date = BEGIN

    def now(self) -> datetime:
        return self.date


class SecureRun(Run):
    """With a calendar: certificates are made and judged by it."""

    __slots__ = ("calendar",)
    calendar: Calendar

    def process(self) -> Any:
        found = Run.process(self)
        found.issuer = Issuer(self.calendar.now)
        return found


def secure(**changes: object) -> SecureRun:
    spec = {**SECURE, **changes}
    api = WorldApi(World(**spec))
    api.resource = {**api.resource, **resource(**spec)}
    run = SecureRun(api)
    run.calendar = Calendar()
    return run


@cache
def forming() -> SecureRun:
    run = secure()
    run.settle()
    return run


def formed(**changes: object) -> SecureRun:
    """A cluster that is Ready, as a copy of its own."""
    if changes:
        run = secure(**changes)
        run.settle()
    else:
        run = SecureRun(copy.deepcopy(forming().api), copy.deepcopy(forming().lease), forming().now)
        run.calendar = Calendar()
        run.settle()
    assert run.condition("Ready")["status"] == "True", run.condition("Ready")
    return run


def data(run: Run, secret: str, key: str) -> str:
    return b64decode(run.world.secrets[secret]["data"][key]).decode()


def told(run: Run, secret: str) -> Facts:
    return facts(data(run, secret, "tls.crt"))


def properties(run: Run, name: str) -> dict[str, str]:
    text = run.world.children["ConfigMap", name].live["data"]["server.properties"]
    return dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))


def later(run: SecureRun, passed: timedelta) -> None:
    """So much later, to an operator that believes nothing that it read before."""
    run.calendar.date += passed
    run.now += 3600.0
    for _ in range(3):
        run.tick()
    run.settle()
