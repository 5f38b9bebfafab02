"""Visits every state that a few replicas can reach within bounds: each order of deliveries, losses, timeouts, appends,
syncs and crashes.

It runs the production `raft.Replica` (`explorer_node`); the network is a bag of packets. Time stands still, so a
timeout is an event like any other: any timer may be the next to fire. What a node does depends on its own state and the
event only, so each such pair is run once and remembered, and a state of the world is a tuple of numbers. Not explored:
fetches of nodes that look for a leader (they change nothing), and a crash between two effects of one step (the
simulator does that).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from support.simulation.explorer_node import Answer, Ask, Facts, Library, Packet


@dataclass(frozen=True)
class Bounds:
    """How far the exploration goes. A crash loses what was not synced; `slow_disks` makes each sync an event of its
    own.
    """

    nodes: int = 3
    epochs: int = 2
    timeouts: int = 3
    records: int = 1
    crashes: int = 1
    losses: int = 0
    slow_disks: bool = False
    max_states: int = 1 << 40


class World(NamedTuple):
    """Equal worlds are one; the numbers name nodes' states, packets and logs in the library."""

    nodes: tuple[int, ...]
    packets: tuple[int, ...] = ()
    leaders: tuple[tuple[int, int], ...] = ()
    committed: tuple[tuple[int, int, bytes], ...] = ()
    """(end offset, epoch, content) of every batch that any node ever called committed."""
    timeouts: int = 0
    records: int = 0
    crashes: int = 0
    losses: int = 0


class Broken(AssertionError):
    """A property does not hold."""


class Explorer:
    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.library = Library(bounds.nodes, slow_disks=bounds.slow_disks)
        self.states = 0
        self.steps = 0
        self.complete = False

    def run(self) -> Explorer:
        """Raises `Broken` with the events that lead there."""
        first = World(tuple(self.library.start(index) for index in range(self.bounds.nodes)))
        came: dict[World, tuple[World, str] | None] = {first: None}
        frontier = [first]
        while frontier:
            world = frontier.pop()
            self.states += 1
            if self.states >= self.bounds.max_states:
                return self
            for name, following in self._successors(world):
                self.steps += 1
                if following in came:
                    continue
                came[following] = (world, name)
                try:
                    checked = self._check(following)
                except Broken as broken:
                    raise Broken(f"{broken}\n  " + "\n  ".join(path_to(following, came))) from None
                if checked is not following:
                    came.setdefault(checked, (world, name))
                frontier.append(checked)
        self.complete = True
        return self

    # What may happen next.

    def _successors(self, world: World) -> Iterator[tuple[str, World]]:
        bounds, library = self.bounds, self.library
        for packet_id in dict.fromkeys(world.packets):
            packet = library.packets[packet_id]
            yield str(packet), self._deliver(world, packet_id)
            if world.losses < bounds.losses and not packet.is_failure:
                yield f"{packet} is lost", self._lose(world, packet_id)
        for index, node in enumerate(world.nodes):
            facts = library.facts[node]
            may_stand = facts.epoch < bounds.epochs or facts.role == "Prospective"
            if world.timeouts < bounds.timeouts and may_stand:
                after = world._replace(timeouts=world.timeouts + 1)
                yield f"{index + 1} times out", self._act(after, index, "time out")
            if facts.leads and world.records < bounds.records:
                after = world._replace(records=world.records + 1)
                yield f"{index + 1} appends", self._act(after, index, f"append {world.records}")
            if facts.unsynced:
                yield f"{index + 1} syncs", self._act(world, index, "sync")
            if world.crashes < bounds.crashes:
                yield f"{index + 1} crashes", self._crash(world, index)

    def _act(self, world: World, index: int, event: str | Packet) -> World:
        """One node does something; what it says joins what is on its way."""
        after, said = self.library.step(world.nodes[index], index, event)
        nodes = (*world.nodes[:index], after, *world.nodes[index + 1 :])
        return world._replace(nodes=nodes, packets=self._on_their_way([*world.packets, *said], nodes))

    def _on_their_way(self, packets: list[int], nodes: tuple[int, ...]) -> tuple[int, ...]:
        """An answer that nobody waits for is as good as delivered."""
        library = self.library
        alive = [p for p in packets if self._is_awaited(library.packets[p], nodes)]
        return tuple(sorted(alive))

    def _is_awaited(self, packet: Packet, nodes: tuple[int, ...]) -> bool:
        return (
            isinstance(packet, Ask) or (packet.boot, packet.call) in self.library.facts[nodes[packet.target]].waits_for
        )

    def _without(self, world: World, packet_id: int) -> World:
        packets = list(world.packets)
        packets.remove(packet_id)
        return world._replace(packets=tuple(packets))

    def _deliver(self, world: World, packet_id: int) -> World:
        packet = self.library.packets[packet_id]
        return self._act(self._without(world, packet_id), packet.target, packet)

    def _lose(self, world: World, packet_id: int) -> World:
        """Whoever asked learns after a while that there is no answer."""
        packet = self.library.packets[packet_id]
        after = self._without(world, packet_id)
        failed = self.library.failure(packet, "timed out")
        packets = self._on_their_way([*after.packets, failed], after.nodes)
        return after._replace(packets=packets, losses=world.losses + 1)

    def _crash(self, world: World, index: int) -> World:
        """The process ends and starts again; its own packets are gone, and whoever waits for it is told so."""
        library = self.library
        kept: list[int] = []
        for packet_id in world.packets:
            packet = library.packets[packet_id]
            if packet.source == index and isinstance(packet, Ask):
                continue
            if packet.target == index and not isinstance(packet, Ask):
                continue
            if index in (packet.source, packet.target):
                kept.append(library.failure(packet, "disconnected"))
            else:
                kept.append(packet_id)
        parked = [library.failure(ask, "disconnected") for ask in library.facts[world.nodes[index]].parked]
        after = world._replace(packets=tuple(kept + parked), crashes=world.crashes + 1)
        return self._act(after, index, "crash")

    # Properties (kraft-facts 5.14).

    def _check(self, world: World) -> World:
        """The same world with what became known: who leads, what is committed."""
        leaders, committed = dict(world.leaders), world.committed
        for index, node in enumerate(world.nodes):
            facts = self.library.facts[node]
            if facts.persisted_epoch != facts.epoch and facts.role != "Prospective":
                raise Broken(f"{index + 1} acts in epoch {facts.epoch}, its disk says {facts.persisted_epoch}")
            if facts.role == "Leader":
                _check_leader(index, facts, leaders, committed)
            committed = self._check_committed(index, facts, committed, world)
        return world._replace(leaders=tuple(sorted(leaders.items())), committed=committed)

    def _check_committed(
        self, index: int, facts: Facts, committed: tuple[tuple[int, int, bytes], ...], world: World
    ) -> tuple[tuple[int, int, bytes], ...]:
        """NoLogDivergence (up to the lower high watermark of any pair) and CommittedEntriesReachMajority."""
        mine = facts.committed
        common = min(len(mine), len(committed))
        if mine[:common] != committed[:common]:
            raise Broken(f"{index + 1} commits {mine}, committed was {committed}")
        if len(mine) <= common:
            return committed
        holders = [n for n in world.nodes if mine[-1] in self.library.facts[n].synced]
        if len(holders) <= self.bounds.nodes // 2:
            raise Broken(f"{index + 1} commits {mine[-1]}, which is on the disks of {len(holders)} nodes only")
        return mine


def _check_leader(
    index: int, facts: Facts, leaders: dict[int, int], committed: tuple[tuple[int, int, bytes], ...]
) -> None:
    """NeverTwoLeadersInSameEpoch; LeaderHasAllAckedValues, asked of the newest leader."""
    other = leaders.setdefault(facts.epoch, index)
    if other != index:
        raise Broken(f"two leaders of epoch {facts.epoch}: {other + 1} and {index + 1}")
    if facts.epoch == max(leaders) and facts.log[: len(committed)] != committed:
        raise Broken(f"leader {index + 1} of epoch {facts.epoch} has {facts.log}, committed is {committed}")


def path_to(world: World, came: dict[World, tuple[World, str] | None]) -> list[str]:
    names: list[str] = []
    step = came.get(world)
    while step is not None:
        names.append(step[1])
        step = came.get(step[0])
    return names[::-1]


def explore(bounds: Bounds) -> Explorer:
    return Explorer(bounds).run()


def summary(explorer: Explorer) -> str:
    whole = "all there are" if explorer.complete else "cut off by the bound"
    runs = explorer.library.runs
    return (
        f"explored {explorer.states:,} states ({whole}), {explorer.steps:,} transitions, "
        f"{len(explorer.library.facts):,} states of single nodes, {runs:,} steps of "
        f"raft.Replica, within {explorer.bounds}"
    )


__all__ = ["Answer", "Bounds", "Broken", "Explorer", "explore", "summary"]
