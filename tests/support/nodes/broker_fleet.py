"""Several brokers beside one controller, without processes: each is a `BrokerWorld`, and calls of each other reach it.

`kill` is what SIGKILL does: what was handed to the disk is there, what was not never happened. Time passes in small
steps, in which every broker does what is due, and calls and answers travel; a cut network loses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from controller_runtime.identifiers import Endpoint, NodeId, Offset
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import CallFailed, CallFailure, RequestId, ResponseReceived
from support.disks.memory_disk import MemoryDisk
from support.nodes.broker_world import BrokerWorld, endpoint_of
from support.nodes.controller_world import World

STEP_S: Final = 0.05
MOVES: Final = 0.6
"""How often what waits is done at the next opportunity, where chance decides."""


class BrokerFleet:
    def __init__(
        self, *node_ids: int, rng: Random | None = None, racks: Mapping[int, str] | None = None, **config: Any
    ) -> None:
        """`rng` decides who comes first in a step and what is slow; without it they keep their order and nothing is.
        `config`: of each broker.
        """
        self._racks = racks or {}
        self._config = config
        self.controller = World()
        self.rng = rng
        self.brokers: dict[int, BrokerWorld] = {}
        """Those that are up."""
        self.disks: dict[int, MemoryDisk] = {}
        self._runs: dict[int, int] = {}
        self._travelling: list[tuple[BrokerWorld, Call, BrokerWorld, RequestId]] = []
        self._held: list[tuple[BrokerWorld, Call, BrokerWorld]] = []
        self.cut: set[int] = set()
        """Who neither reaches its peers nor is reached."""
        self.paused: set[int] = set()
        """Who does nothing, and does not know it: the machine stands still under it. What is sent to it waits."""
        for node_id in node_ids:
            self.start(node_id)
        self.wait(1.0)

    def start(self, node_id: int) -> None:
        run = self._runs[node_id] = self._runs.get(node_id, -1) + 1
        disk, config = self.disks.get(node_id), self._config
        name, rack = NodeId(node_id), self._racks.get(node_id)
        world = BrokerWorld(disk, controller=self.controller, run=run, node_id=name, rack=rack, **config)
        world.now = self.controller.now
        self.brokers[node_id], self.disks[node_id] = world, world.disk

    def kill(self, node_id: int) -> None:
        gone = self.brokers.pop(node_id)
        self.disks[node_id] = gone.disk.survivors("everything")
        kept = []
        for caller, call, target, request in self._travelling:
            if target is gone and caller is not gone:
                caller.happen(CallFailed(call.call_id, CallFailure.DISCONNECTED))
            elif caller is not gone:
                kept.append((caller, call, target, request))
        self._travelling = kept

    def wait(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / STEP_S))):
            self.step()

    def step(self) -> None:
        order = [world for world in self.brokers.values() if world.node_id not in self.paused]
        if self.rng is not None:
            self.rng.shuffle(order)
        now = self.controller.now
        for world in order:
            world.wait(STEP_S, moves=self._moves())
        self.controller.now = now + STEP_S  # type: ignore[assignment]
        self.controller.periodic()
        for _ in range(4):  # a few journeys in each step
            for world in order:
                self._send(world)
                if self._moves():
                    world.settle()
            self._answer()

    def _moves(self) -> bool:
        """A disk, a controller or a network may be slow: what waits, waits."""
        return self.rng is None or self.rng.random() < MOVES

    def _send(self, world: BrokerWorld) -> None:
        while world.peer_calls:
            call = world.peer_calls.popleft()
            target = self._at(call.endpoint)
            if target is not None and target.node_id in self.paused:
                self._held.append((world, call, target))
            elif target is None or {world.node_id, target.node_id} & self.cut:
                world.happen(CallFailed(call.call_id, CallFailure.REFUSED))
            else:
                request = target.send(call.body, connection=1000 + world.node_id)
                self._travelling.append((world, call, target, request))

    def _answer(self) -> None:
        left = []
        slow = {(one, other) for one in self.brokers for other in self.brokers if not self._moves()}
        for caller, call, target, request in self._travelling:
            is_slow = (caller.node_id, target.node_id) in slow or caller.node_id in self.paused
            answer = None if is_slow else target.answers.pop(request, None)
            if answer is None:
                left.append((caller, call, target, request))
            elif {caller.node_id, target.node_id} & self.cut:
                caller.happen(CallFailed(call.call_id, CallFailure.TIMED_OUT))
            else:
                caller.happen(ResponseReceived(call.call_id, call.body.VERSIONS.highest, answer))
        self._travelling = left

    def resume(self) -> None:
        """All go on; time has passed for them, too, and what was sent to them arrives."""
        for node_id in self.paused & self.brokers.keys():
            world = self.brokers[node_id]
            world.now = self.controller.now
        self.paused = set()
        held, self._held = self._held, []
        for world, call, target in held:
            if self.brokers.get(world.node_id) is world and self.brokers.get(target.node_id) is target:
                request = target.send(call.body, connection=1000 + world.node_id)
                self._travelling.append((world, call, target, request))

    def _at(self, endpoint: Endpoint) -> BrokerWorld | None:
        return next((one for one in self.brokers.values() if endpoint_of(one.node_id) == endpoint), None)

    def leader(self, topic: str, index: int = 0) -> BrokerWorld | None:
        """The broker that the image names, if it is up."""
        found = self.controller.image.topics.partition(self.controller.image.topics.ids[topic], index)
        return None if found is None else self.brokers.get(found.leader)

    def log_bytes(self, node_id: int, topic: str, index: int = 0) -> bytes:
        """What the broker's log holds, whole batches, from its beginning."""
        world = self.brokers[node_id]
        key = world.service.partitions.key(topic, self.controller.image.topics.ids[topic], index)
        assert key is not None
        log = world.manager.log(key)
        return log.read(Offset(log.start_offset), 1 << 30)
