"""A schedule of three brokers of production that lead two partitions which a group shares (KIP-932), keep their states
and coordinate the group, while brokers are killed, stopped under control, cut off and paused, and members die, fall
asleep, leave and come; from a seed, to its last byte.

What is looked at all the time, where it is beyond doubt who leads:
- no record comes to anybody after somebody was told that it is accepted or rejected;
- no record comes to anybody while another one has it, whose lock has not run out;
and when all is healed: every record that was acknowledged to its writer came to a member, the group has nothing left to
do, and all replicas have the same bytes. `min.insync.replicas` is 2: elections are clean.
"""

from __future__ import annotations

from random import Random
from typing import Final

from controller_runtime.broker.replica_fetchers import FetchSettings
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from controller_runtime.protocol.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.values import dataclass
from support.clients.share_clients import GROUP, LOCK_S, PARTITIONS, TOPIC, Account, Led, Sharer, Writer
from support.clients.transfer_clients import Ask, Finding
from support.nodes.broker_fleet import BrokerFleet
from support.nodes.client_schedule import Client, ClientSchedule, Troubles, Violation

BROKERS: Final = (11, 12, 13)
MEMBERS: Final = 3
STEPS: Final = 500
SETTLING_STEPS: Final = 1_200
OFFSETS, STATES = "__consumer_offsets", "__share_group_state"
_OF_GROUPS: Final = 32
SETTINGS: Final = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "min.insync.replicas": "2",
    "group.share.record.lock.duration.ms": str(round(LOCK_S * 1000)),
    "group.share.delivery.count.limit": "10",
    "group.share.session.timeout.ms": "6000",
    "group.share.heartbeat.interval.ms": "500",
}


@dataclass(slots=True)
class Told:
    """What happened, to see that a schedule is worth something."""

    troubles: Troubles
    members: int = 0
    written: int = 0
    given: int = 0
    again: int = 0
    """Of those: records that had come to somebody before."""
    done: int = 0
    released: int = 0
    refused: int = 0


class ShareSchedule(ClientSchedule):
    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        one_batch = FetchSettings(partition_bytes=1, answer_bytes=1)
        fleet = BrokerFleet(*BROKERS, rng=rng, replica_lag_s=1.0, replica_fetch=one_batch, node_configs=SETTINGS)
        super().__init__(rng, fleet)
        self.told = Told(self.troubles)
        begins = ConfigRecord(
            resource_type=_OF_GROUPS, resource_name=GROUP, name="share.auto.offset.reset", value="earliest"
        )
        fleet.controller.append([(FeatureLevelRecord(name="share.version", feature_level=1), 0), (begins, 0)])
        created = fleet.controller.create(TOPIC, partitions=PARTITIONS, factor=len(BROKERS))
        assert created.error_code == 0, created
        self.account = Account(fleet.controller.image.topics.ids[TOPIC], self._led)
        self.writer = Writer(self.account, Random(rng.random()))
        self.begin(self.writer.run())
        self.members: list[tuple[Sharer, Client]] = []
        """Those that live."""
        for _ in range(MEMBERS):
            self._come()

    def _led(self, index: int) -> Led:
        topics, now = self.fleet.controller.image.topics, float(self.fleet.controller.now)
        found = topics.partition(topics.ids[TOPIC], index)
        if found is None or found.leader < 0:
            return Led(None, -1, now)
        return Led(NodeId(found.leader), found.leader_epoch, now)

    def _come(self) -> None:
        self.told.members += 1
        finding = Finding(lambda: self.fleet.controller.image, Random(self.rng.random()))
        member = Sharer(self.account, finding, self.told.members)
        self.members.append((member, self.begin(member.run())))

    def run(self) -> Told:
        for _ in range(STEPS):
            self.happen()
            self.step()
        self._heal()
        self._count()
        return self.told

    def must_not_be_late(self, wanted: Ask) -> bool:
        """Clients of Kafka have one connection, and nothing of it overtakes what they said before."""
        return not isinstance(wanted.body, FindCoordinatorRequest | ProduceRequest)

    def happens_besides(self, kind: float) -> None:
        if kind >= 0.06:
            return
        member, client = self.rng.choice(self.members)
        if kind >= 0.045:
            member.is_sleeping = True
            return
        if kind < 0.035:  # It dies: its connection ends.
            self.clients.remove(client)
            for world in self.fleet.brokers.values():
                world.hang_up(client.connection)
            member.die()
        else:
            member.is_leaving = True
        self.members.remove((member, client))
        self._come()

    # What must hold.

    def judge(self) -> None:
        if self.account.wrong:
            raise Violation(self.account.wrong[0])

    def _heal(self) -> None:
        self.mend()
        self.is_calm = True
        self.writer.is_stopping = True
        for member, _ in self.members:
            member.is_diligent = True
        for _ in range(SETTLING_STEPS // 20):
            for _ in range(20):
                self.step()
            if self.is_whole([TOPIC, OFFSETS, STATES]) and not any(self._left().values()):
                break
        else:
            raise Violation(f"the group is not done: {self._left()} left, in sync {self.is_whole([TOPIC, STATES])}")
        missing = self.account.written - self.account.given.keys()
        if missing:
            raise Violation(f"{sorted(missing)} were written and came to nobody")
        self.clients = []  # All die.
        self.fleet.wait(1.0)
        self.compare_logs([TOPIC, OFFSETS, STATES])

    def _left(self) -> dict[int, int]:
        """By partition: how many records the group has to do yet (KIP-1226); -1: it is not told."""
        found = dict.fromkeys(range(PARTITIONS), -1)
        coordinator = self.fleet.leader(OFFSETS)
        if coordinator is None:
            return found
        wanted = DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=None)
        sent = coordinator.send(DescribeShareGroupOffsetsRequest(groups=(wanted,)), 1, connection=1)
        for _ in range(40):
            self.step()
            if sent in coordinator.answers:
                break
        answer = coordinator.answers.pop(sent, None)
        if isinstance(answer, DescribeShareGroupOffsetsResponse):
            parts = (part for topic in answer.groups[0].topics for part in topic.partitions)
            found |= {part.partition_index: part.lag for part in parts if not part.error_code}
        return found

    def _count(self) -> None:
        account, told = self.account, self.told
        told.written, told.done = len(account.written), len(account.done)
        told.given = sum(account.given.values())
        told.again = told.given - len(account.given)
        told.released, told.refused = account.released, account.refused
