"""What every story of a mixed quorum shares: how much of it runs, and what must hold at its end."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from support.apache_kafka.java_kafka import ToolResult
from support.apache_kafka.mixed_quorum import MixedQuorum
from support.apache_kafka.voter_logs import compare, names_on_disk
from support.clients.config_load import PREFIX, ConfigLoad, read_back
from support.nodes.processes import eventually

SOAK: Final = bool(os.environ.get("QUORATE_SOAK"))
T = TypeVar("T")


def chosen(run_seed: int, things: Sequence[T], few: int) -> list[T]:
    """All of them in a soak, else a few that the seed of the run chooses."""
    return list(things) if SOAK else random.Random(run_seed).sample(list(things), few)


def change_voters(quorum: MixedQuorum, ask: Callable[[], ToolResult], wanted: set[int]) -> None:
    """Ask until these are the voters: a leader that has just been elected refuses until it has committed
    (REQUEST_TIMED_OUT, as Kafka's does), and on a machine that stalls a process an election may come at any time."""
    said: list[ToolResult] = []

    def done() -> bool:
        said.append(ask())
        assert said[-1].rc == 0 or "TimeoutException" in said[-1].err or len(said) > 1, said[-1]
        return quorum.voters() == wanted

    eventually(f"the voters are {wanted}", done, 120)


def assert_nothing_is_lost(quorum: MixedQuorum, load: ConfigLoad) -> int:
    """Every acknowledged change is known to the quorum and lies on every voter's disk, all logs are byte for byte one,
    and no Java node complained. The number of batches that were compared."""
    assert load.names
    agreed = quorum.wait_until_following()
    leader = str(quorum.node(quorum.leader()).endpoint)  # a standby that has just started may still be reading
    eventually("every acknowledged change is told", lambda: load.names <= read_back(leader))
    directories = {voter: quorum.metadata(voter) for voter in sorted(quorum.voters())}
    compared = compare(directories, agreed)
    assert compared > 0
    for voter, directory in directories.items():
        missing = load.names - names_on_disk(directory, agreed, PREFIX)
        assert not missing, f"node {voter} does not have {sorted(missing)[:5]}"
    assert quorum.java_faults() == []
    return compared
