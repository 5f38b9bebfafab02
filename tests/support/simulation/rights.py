"""A schedule of races between ACLs and fail-overs: somebody's right is denied and given back again and again, while
leaders die, freeze and are cut off; whoever it is asks controllers and the broker all the time, for several names at
once, so that a request is judged over several steps.

What is promised: from the moment that a denial is acknowledged until it is taken back, nobody who asks later is let do
it by an active controller, nor by any node that has replayed the denial. What may have happened is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final

import pytest

from controller_runtime.identifiers import NodeId, Offset
from controller_runtime.parts import pieces
from controller_runtime.parts.events import CallFailure
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.create_acls_response import CreateAclsResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from controller_runtime.protocol.messages.delete_acls_response import DeleteAclsResponse
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.schema import Message
from support.simulation.client import Asker
from support.simulation.fleet import BROKER, Fleet, Timings, broker_endpoint_of, endpoint_of
from support.simulation.world import Invariant, Violation, World

ANN: Final = "User:ann"
DENY, ALLOW = 2, 3
NAMES: Final = 4
"""In each request: one is judged in a step."""
DURATION_S: Final = 10.0
PAUSE_S: Final = 0.2
TIMEOUT_S: Final = 1.0
DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
LET: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REPLICATION_FACTOR,
    }
)
"""What only somebody hears who may."""
TIMINGS: Final = Timings(
    election_timeout_ms=300, first_election_timeout_ms=100, fetch_timeout_ms=600, request_timeout_ms=600,
    fetch_max_wait_ms=150,
)  # fmt: skip


@dataclass
class Done:
    """What the schedule did, when nothing was violated."""

    denials: int = 0
    """That were acknowledged."""
    epochs: int = 0
    allowed: int = 0
    """Answers to Ann, to requests while nothing was denied for certain."""
    judged: int = 0
    """Answers that had to be refusals, and were."""
    by_role: dict[str, int] = field(default_factory=dict)


class Rights:
    def __init__(self, seed: int, invariants: tuple[Invariant, ...] = ()) -> None:
        self.rng = Random(seed)
        voters = tuple(NodeId(n) for n in (1, 2, 3))
        self.world = World(seed, Fleet(voters, (), dynamic=True, timings=TIMINGS, authorizes=True), invariants)
        self.done = Done()
        self._ruler = Asker(self.world, Random(self.rng.random()), 1)
        self._denied_since: float | None = None
        """When the denial was acknowledged that is in force for certain."""
        self._denied_at = Offset(0)
        """Where it is in the log, or before that."""
        self._asked = 0

    def run(self) -> Done:
        """Raises Violation. A piece has one unit meanwhile."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pieces, "PIECE_UNITS", 1)
            self._play()
        return self.done

    def _play(self) -> None:
        world = self.world
        for node in world.fleet.everybody:
            world.boot(node)
        self._rule(deny=False)
        for number, ask in enumerate((self._make, self._describe, self._look), 10):
            who = NodeId(-100 - number)
            world.principals[who] = ANN
            self._again(partial(ask, who))
        self._fault()
        world.run(DURATION_S)
        self.done.epochs = max(m.node.meta.replica.epoch for m in world.machines.values() if m.node is not None)

    # Who rules.

    def _rule(self, *, deny: bool) -> None:
        """Ask until it is acknowledged; then wait, and ask for the opposite."""
        if not deny:
            self._denied_since = None
        kinds = [Operation.CREATE, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS]
        request: Message
        if deny:
            request = CreateAclsRequest(creations=tuple(_acl(kind, DENY) for kind in kinds))
        elif self.done.denials:
            request = DeleteAclsRequest(filters=(_filter(DENY),))
        else:
            request = CreateAclsRequest(creations=tuple(_acl(kind, ALLOW) for kind in kinds))
        target = self._ruler.target

        def answered(reply: Message) -> None:
            assert isinstance(reply, (CreateAclsResponse, DeleteAclsResponse))
            codes = {each.error_code for each in getattr(reply, "results", None) or reply.filter_results}  # type: ignore[union-attr]
            if codes != {ErrorCode.NONE}:
                self._ruler.go_on(target)
                self._ruler.again(partial(self._rule, deny=deny))
                return
            if deny:
                self.done.denials += 1
                self._denied_since, self._denied_at = self.world.time, self.world.newest[0]
            self.world.later(self.rng.uniform(0.05, 2.5), partial(self._rule, deny=not deny))

        self._ruler.send(request, answered, lambda _: self._ruler.again(partial(self._rule, deny=deny)))

    # What Ann asks.

    def _again(self, action: object) -> None:
        assert callable(action)
        self.world.later(PAUSE_S * self.rng.random(), action)

    def _names(self) -> list[str]:
        self._asked += 1
        return [f"t-{self._asked % 7}-{n}" for n in range(NAMES)]

    def _ask(self, who: NodeId, node: NodeId, body: Message, codes: object, again: object) -> None:
        """An active controller never lets her do it any more; others do not when they have replayed the denial."""
        assert callable(codes)
        machine, since = self.world.machines[node], self._denied_since
        decides = isinstance(body, CreateTopicsRequest)
        knows = machine.is_up and machine.node is not None and machine.node.image_offset >= self._denied_at
        boots = machine.boots

        def answer(_: int, reply: Message) -> None:
            self._again(again)
            found = set(codes(reply))
            still = since is not None and since == self._denied_since
            if found & LET and not still:
                self.done.allowed += 1
            if not still or not (decides or (knows and boots == machine.boots)):
                return
            if found & LET:
                asked = type(body).__name__
                raise Violation(f"{asked} of n{node} is allowed at {self.world.time:.3f}, denied since {since:.3f}")
            if found == {DENIED}:
                self.done.judged += 1
                name = type(body).__name__
                self.done.by_role[name] = self.done.by_role.get(name, 0) + 1

        def fail(_: CallFailure) -> None:
            self._again(again)

        endpoint = broker_endpoint_of(node) if node == BROKER else endpoint_of(node)
        self.world.ask(who, endpoint, body, TIMEOUT_S, answer, fail)

    def _make(self, who: NodeId) -> None:
        """Of a controller; of the broker now and then, which forwards it."""
        node = BROKER if self.rng.random() < 0.2 else self.rng.choice(self.world.fleet.voters)
        topics = tuple(CreatableTopic(name=n, num_partitions=1, replication_factor=1) for n in self._names())
        body = CreateTopicsRequest(topics=topics, timeout_ms=1000)

        def codes(reply: Message) -> list[int]:
            assert isinstance(reply, CreateTopicsResponse)
            return [each.error_code for each in reply.topics]

        self._ask(who, node, body, codes, partial(self._make, who))

    def _describe(self, who: NodeId) -> None:
        """Topics that are not there: who may know that is told so."""
        node = self.rng.choice(self.world.fleet.voters)
        wanted = tuple(DescribeConfigsResource(resource_type=2, resource_name=name) for name in self._names())

        def codes(reply: Message) -> list[int]:
            assert isinstance(reply, DescribeConfigsResponse)
            return [each.error_code for each in reply.results]

        self._ask(who, node, DescribeConfigsRequest(resources=wanted), codes, partial(self._describe, who))

    def _look(self, who: NodeId) -> None:
        topics = tuple(MetadataRequestTopic(name=name) for name in self._names())

        def codes(reply: Message) -> list[int]:
            assert isinstance(reply, MetadataResponse)
            return [each.error_code for each in reply.topics]

        body = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        self._ask(who, BROKER, body, codes, partial(self._look, who))

    # What goes wrong.

    def _fault(self) -> None:
        world, rng = self.world, self.rng
        active = [m.id for m in world.up if m.node is not None and m.node.is_active]
        node = rng.choice(active) if active and rng.random() < 0.7 else rng.choice(world.fleet.everybody)
        lasts_s = rng.uniform(0.1, 2.0)
        match rng.randrange(3):
            case 0 if world.machines[node].is_up:
                world.kill(node, power_loss=rng.random() < 0.5)
                world.later(lasts_s, partial(self._boot, node))
            case 1:
                world.pause(node, lasts_s)
            case _:
                world.network.isolate(node, world.fleet.everybody)
                world.later(lasts_s, world.network.heal)
        world.later(rng.uniform(0.5, 3.0), self._fault)

    def _boot(self, node: NodeId) -> None:
        if not self.world.machines[node].is_up:
            self.world.boot(node)


def _acl(operation: Operation, permission: int) -> AclCreation:
    return AclCreation(
        resource_type=2,
        resource_name="t-",
        resource_pattern_type=4,
        principal=ANN,
        host="*",
        operation=operation,
        permission_type=permission,
    )


def _filter(permission: int) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=2,
        resource_name_filter="t-",
        pattern_type_filter=4,
        principal_filter=ANN,
        host_filter=None,
        operation=1,
        permission_type=permission,
    )
