"""Volumes that go with their claims: named once, with the command that keeps them, and what that command does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kraft_operator.plugin.main import parser, run
from support.operator_model.world import World
from support.operator_model.world_api import WorldApi
from support.operator_model.world_runs import Run

pytestmark = pytest.mark.unit


def settled() -> Run:
    made = Run(WorldApi(World()))
    made.settle()
    return made


def later(made: Run) -> None:
    """Long enough for policies to be read again."""
    made.now += 700.0
    made.settle()


def risks(made: Run) -> list[str]:
    return list((made.api.resource.get("status") or {}).get("risks") or ())


def protect(api: Any, *options: str) -> tuple[int, str]:
    told: list[str] = []
    code = run(parser().parse_args(["protect", "c", "-n", "n", *options]), api, told.append)
    return code, "\n".join(told)


def test_volumes_that_go_with_their_claims_are_named_once_with_the_command() -> None:
    made = settled()
    later(made)
    (risk,) = risks(made)
    assert min(made.world.disks) in risk
    assert "kubectl kraft protect c -n n" in risk
    made.world.retained |= set(made.world.disks)
    later(made)
    assert risks(made) == []


def test_whoever_wants_volumes_to_go_with_the_resource_is_not_told() -> None:
    made = settled()
    made.api.edit(deletionPolicy={"volumes": "Delete"})
    later(made)
    assert risks(made) == []


def test_a_policy_is_read_now_and_then_and_not_in_every_pass() -> None:
    made = settled()
    made.world.retained |= set(made.world.disks)
    made.settle()
    assert risks(made) != []


def test_protecting_retains_every_bound_volume_and_may_be_repeated() -> None:
    made = settled()
    made.world.terminate(1)
    code, told = protect(made.api)
    assert code == 0
    assert made.world.retained == set(made.world.disks)
    assert told.count("is retained from now on") == 5
    code, told = protect(made.api, "-o", "json")
    assert {each["outcome"] for each in json.loads(told)["volumes"]} == {"is retained already"}


def test_a_volume_that_belongs_to_another_claim_is_left_as_it_is() -> None:
    made = settled()
    first, second = (made.world.claims[made.world.pods[each].claim] for each in (0, 1))
    volume = first.volume
    second.volume = volume  # two claims name it; it is bound to the first
    _, told = protect(made.api)
    assert f"{volume} belongs to another claim: left as it is" in told
