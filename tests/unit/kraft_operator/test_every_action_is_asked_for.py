"""Right before every action the Lease is asked, and the ledger that the plan was made upon is still the one: whatever
the action is.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.actions import (
    Action,
    ApplyChild,
    DeleteChild,
    DeleteOperation,
    GrowClaim,
    NudgePod,
    OrphanSet,
    WriteLedger,
)
from kraft_operator.execute import Execution
from kraft_operator.fence import Stale
from kraft_operator.kube import CONFIG_MAP, Kind, Object
from kraft_operator.lease import LeaseLost, LeaseRunsOut, Term
from kraft_operator.settings import Failpoints
from support.operator_model.world import World

pytestmark = pytest.mark.unit

UNFENCED: tuple[Action, ...] = (
    ApplyChild({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"}}, "r"),
    DeleteChild("v1", "Service", "s", "u", "r"),
    GrowClaim("c", "u", "2Gi", "r"),
    OrphanSet("s", "u", "r"),
    NudgePod("p", "u", 1, "r"),
    DeleteOperation("o", "u", "r"),
)


class Api:
    """Says what it was asked to change."""

    def __init__(self, version: str = "7") -> None:
        self.calls: list[str] = []
        self.version = version

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object:
        assert kind is CONFIG_MAP
        return {"metadata": {"resourceVersion": self.version}}

    def __getattr__(self, verb: str) -> Any:
        def call(kind: Kind, *_: Any, **more: Any) -> Object:
            self.calls.append(f"{verb} {kind.kind}")
            assert more.get("timeout") == 5.0, "a call may not outlast the Lease"
            return {"metadata": {"resourceVersion": "8"}}

        return call


class Holder:
    """Holds the Lease for so many questions."""

    def __init__(self, answers: int, error: Exception | None = None) -> None:
        self.answers, self.error = answers, error or LeaseLost("gone")

    def require(self, seconds: float) -> Term:
        self.answers -= 1
        if self.answers < 0:
            raise self.error
        return Term("a", 1)

    def still_holds(self) -> bool:
        return self.answers > 0


def execution(api: Api, holder: Holder) -> Execution:
    world: Any = World()
    any_api: Any = api
    ledger = {"metadata": {"name": "c-ledger", "namespace": "n", "resourceVersion": "7"}}
    nobody: Any = None
    return Execution(world.cluster, any_api, holder, nobody, nobody, Failpoints(), 5.0, ledger, {})


@pytest.mark.parametrize("action", UNFENCED, ids=lambda each: type(each).__name__)
def test_the_lease_is_asked_before_each(action: Action) -> None:
    api = Api()
    with pytest.raises(LeaseRunsOut):
        execution(api, Holder(1, LeaseRunsOut("soon"))).run((action, action))
    assert len(api.calls) == 1


@pytest.mark.parametrize("action", UNFENCED, ids=lambda each: type(each).__name__)
def test_a_ledger_that_somebody_has_written_since_is_asked_before_the_first(action: Action) -> None:
    api = Api(version="8")
    with pytest.raises(Stale, match="c-ledger"):
        execution(api, Holder(9)).run((action,))
    assert api.calls == []


def test_who_has_just_written_the_ledger_asks_only_the_lease() -> None:
    world, api = World(), Api(version="another by now")
    world.settle()
    assert world.ledger is not None
    execution(api, Holder(9)).run((WriteLedger(world.ledger, "r"), UNFENCED[0]))
    assert api.calls == ["replace ConfigMap", "apply Service"]
