"""How far a RecoverQuorum has come, as the ledger remembers it. Values only.

Up to the choice nothing is remembered that cannot be seen again, so a cancelled recovery leaves nothing behind. The
choice is written down before the helper that carries it out exists: from then on it is carried to its end, by whichever
operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kraft_operator.operations.verdict import Witness


class Stage(StrEnum):
    FENCE = "Fence"
    """The controllers are held; none of their processes may be left."""
    COLLECT = "Collect"
    """The copies are read and judged; somebody approves the verdict."""
    FORCE = "ForceStandalone"
    """A quorum of one is made of the seed."""
    SET_ASIDE = "SetAside"
    """The other controllers' old directories are taken out of the way."""
    REJOIN = "Rejoin"
    """The other controllers are formatted and added by the usual rules."""


REVOCABLE: Final = (Stage.FENCE, Stage.COLLECT)
HELD: Final = (Stage.FENCE, Stage.COLLECT, Stage.FORCE, Stage.SET_ASIDE)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which copy, into which node's directory, under which new names."""

    hash: str
    judged: str
    seed: int
    from_broker: bool
    target: int
    directory_id: str
    nonce: str
    epoch: int
    end: int
    last_epoch: int
    aside: tuple[int, ...] = ()
    target_claim: str | None = None
    """The UID of the claim that carried the target's name when it was judged, empty if there was none; None where an
    older operator chose.
    """
    seed_claim: str | None = None


@dataclass(frozen=True, slots=True)
class Recovery:
    stage: Stage
    witnesses: tuple[Witness, ...] = ()
    choice: Choice | None = None


def render(recovery: Recovery) -> dict[str, Any]:
    choice = recovery.choice
    values: dict[str, Any] = {
        "stage": recovery.stage.value,
        "witnesses": [[each.node_id, each.known, each.promised] for each in recovery.witnesses],
    }
    if choice is not None:
        values["choice"] = {
            "hash": choice.hash,
            "judged": choice.judged,
            "seed": choice.seed,
            "fromBroker": choice.from_broker,
            "target": choice.target,
            "directoryID": choice.directory_id,
            "nonce": choice.nonce,
            "epoch": choice.epoch,
            "end": choice.end,
            "lastEpoch": choice.last_epoch,
            "aside": list(choice.aside),
            "targetClaim": choice.target_claim,
            "seedClaim": choice.seed_claim,
        }
    return values


def parse(values: Mapping[str, Any]) -> Recovery:
    """Raises KeyError, TypeError or ValueError."""
    found = values.get("choice")
    choice = None
    if found is not None:
        choice = Choice(
            str(found["hash"]), str(found["judged"]), seed=int(found["seed"]), from_broker=bool(found["fromBroker"]),
            target=int(found["target"]),
            directory_id=str(found["directoryID"]), nonce=str(found["nonce"]), epoch=int(found["epoch"]),
            end=int(found["end"]), last_epoch=int(found["lastEpoch"]),
            aside=tuple(int(each) for each in found["aside"]), target_claim=found.get("targetClaim"),
            seed_claim=found.get("seedClaim"),
        )  # fmt: skip
    witnesses = tuple(Witness(int(node), int(known), int(promised)) for node, known, promised in values["witnesses"])
    return Recovery(Stage(values["stage"]), witnesses, choice)
