"""A schedule of three brokers of production that coordinate two groups, one of the classic protocol and one of that of
KIP-848, while brokers are killed, stopped under control, cut off and paused, and members die, fall asleep, leave and
come; from a seed, to its last byte.

What is looked at all the time:
- no two members have one partition, if the coordinator has confirmed both within their sessions;
- whoever is given a partition is told a position that is no less than what was acknowledged to any member before, and
  no commit is taken that is less;
and when all is healed: every partition belongs to one member, members go on to commit, what was acknowledged is
committed, and all replicas have the same bytes. `min.insync.replicas` is 2: elections are clean.
"""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Final

from controller_runtime.broker.replica_fetchers import FetchSettings
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from controller_runtime.protocol.messages.offset_fetch_response import OffsetFetchResponse
from controller_runtime.values import dataclass, field
from support.clients.group_clients import (
    PARTITIONS,
    SESSION_MS,
    TOPIC,
    ClassicMember,
    ConsumerMember,
    Group,
    GroupMember,
    Known,
)
from support.clients.transfer_clients import Ask, Finding
from support.nodes.broker_fleet import BrokerFleet
from support.nodes.client_schedule import Client, ClientSchedule, Troubles, Violation

BROKERS: Final = (11, 12, 13)
MEMBERS: Final = 3
STEPS: Final = 500
SETTLING_STEPS: Final = 1_500
OFFSETS: Final = "__consumer_offsets"
SETTINGS: Final = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "group.initial.rebalance.delay.ms": "200",
    "group.consumer.min.session.timeout.ms": str(SESSION_MS),
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
KINDS: Final[dict[str, type[GroupMember]]] = {"classic": ClassicMember, "consumer": ConsumerMember}


@dataclass(slots=True)
class Told:
    """What happened, to see that a schedule is worth something."""

    troubles: Troubles
    commits: int = 0
    refused: int = 0
    fenced: int = 0
    taken: int = 0
    """How often a partition came to a member."""
    members: dict[str, int] = field(default_factory=dict)
    """By group: how many there were."""


class GroupSchedule(ClientSchedule):
    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        one_batch = FetchSettings(partition_bytes=1, answer_bytes=1)
        fleet = BrokerFleet(*BROKERS, rng=rng, replica_lag_s=1.0, replica_fetch=one_batch, node_configs=SETTINGS)
        super().__init__(rng, fleet)
        self.told = Told(self.troubles)
        created = fleet.controller.create(TOPIC, partitions=PARTITIONS, factor=len(BROKERS))
        assert created.error_code == 0, created
        topic_id = fleet.controller.image.topics.ids[TOPIC]
        self.groups = {name: Group(name, topic_id, self._known) for name in KINDS}
        self.members: dict[str, list[tuple[GroupMember, Client]]] = {name: [] for name in KINDS}
        """Of those that live."""
        for name in KINDS:
            for _ in range(MEMBERS):
                self._come(name)

    def _known(self) -> Known:
        """Of the only partition that keeps groups."""
        topics, now = self.fleet.controller.image.topics, float(self.fleet.controller.now)
        found = topics.partition(topics.ids[OFFSETS], 0) if OFFSETS in topics.ids else None
        return Known(None, -1, now) if found is None else Known(NodeId(found.leader), found.leader_epoch, now)

    def _come(self, name: str) -> None:
        number = self.told.members[name] = self.told.members.get(name, 0) + 1
        finding = Finding(lambda: self.fleet.controller.image, Random(self.rng.random()))
        member = KINDS[name](self.groups[name], finding, number)
        self.members[name].append((member, self.begin(member.run())))

    def run(self) -> Told:
        for _ in range(STEPS):
            self.happen()
            self.step()
        self._heal()
        self._compare()
        return self.told

    def must_not_be_late(self, wanted: Ask) -> bool:
        """What a member has said before it said something else holds, if it comes after that: clients of Kafka have
        one connection, and nothing of it overtakes.
        """
        return not isinstance(wanted.body, FindCoordinatorRequest | OffsetFetchRequest)

    def happens_besides(self, kind: float) -> None:
        if kind >= 0.06:
            return
        name = self.rng.choice(list(KINDS))
        member, client = self.rng.choice(self.members[name])
        if kind < 0.035:
            member.is_dead = True
            self.clients.remove(client)
        elif kind < 0.045:
            member.is_leaving = True
        else:
            member.is_sleeping = True
            return
        self.members[name].remove((member, client))
        self._come(name)

    # What must hold.

    def judge(self) -> None:
        for name, group in self.groups.items():
            if group.wrong:
                raise Violation(group.wrong[0])
            members = [member for member, _ in self.members[name]]
            for one, other in combinations(members, 2):
                both = one.owned & other.owned
                if both and self._is_confirmed(one) and self._is_confirmed(other):
                    raise Violation(f"{one} and {other} have partitions {sorted(both)} at the same time")

    def _is_confirmed(self, member: GroupMember) -> bool:
        """The coordinator that there is may not have given up the member yet."""
        heard, now = member.heard, self._known()
        return heard is not None and heard.epoch == now.epoch and now.now - heard.now < SESSION_MS / 1000

    def _heal(self) -> None:
        self.mend()
        self.is_calm = True
        for _ in range(SETTLING_STEPS):
            self.step()
            if self._is_shared() and self.is_whole([TOPIC, OFFSETS]):
                break
        else:
            raise Violation(f"groups do not come to rest: {self._shares()}")
        before = {name: group.commits for name, group in self.groups.items()}
        for _ in range(SETTLING_STEPS):
            self.step()
            if all(group.commits > before[name] for name, group in self.groups.items()):
                break
        else:
            raise Violation(f"members do not commit any more: {self._shares()}")
        self.clients = []  # All die.
        self.fleet.wait(1.0)

    def _shares(self) -> dict[str, list[str]]:
        return {
            name: [f"{member}: {sorted(member.owned)}" for member, _ in members]
            for name, members in self.members.items()
        }

    def _is_shared(self) -> bool:
        return all(
            sorted(index for member, _ in members for index in member.positions) == list(range(PARTITIONS))
            for members in self.members.values()
        )

    def _compare(self) -> None:
        self.compare_logs([OFFSETS])
        for name, group in self.groups.items():
            committed = self._committed(name)
            behind = {index: at for index, at in group.acknowledged.items() if committed.get(index, -1) < at}
            if behind:
                raise Violation(f"{name}: {behind} was acknowledged, {committed} is committed")
            self.told.taken += group.taken
            self.told.commits += group.commits
            self.told.refused += group.refused
            self.told.fenced += group.fenced

    def _committed(self, name: str) -> dict[int, int]:
        leader = self.fleet.leader(OFFSETS)
        assert leader is not None
        topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=tuple(range(PARTITIONS)))
        request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=name, topics=(topic,)),))
        sent = leader.send(request, 9, connection=1)
        self.fleet.wait(1.0)
        answer = leader.answers.pop(sent)
        if not isinstance(answer, OffsetFetchResponse) or answer.groups[0].error_code:
            raise Violation(f"offsets of {name} are not told: {answer}")
        return {each.partition_index: each.committed_offset for each in answer.groups[0].topics[0].partitions}
