"""What must hold of partitions, whatever fails: looked at whenever a newer image is committed, a leader begins, a
record is acknowledged or a change of the ISR is granted.

- A record that was acknowledged (acks=all, min.insync.replicas=2) is on every replica of the ISR and of the ELR, and a
  broker that begins to lead has it.
- Below the minimal ISR nobody leaves ISR and ELR but who restarted without a clean shutdown (KIP-966). Only when both
  are empty for that reason the last known leader may lead again; what it has not is given up.
- A leader is in the ISR, and whoever is in the ISR of a partition that is led is unfenced and stays.
- Leader epochs and partition epochs never fall; another leader has another epoch, another state another partition
  epoch.
- No leader epoch has two leaders; what a controller grants is what the log says, and means the incarnations that are
  registered (KIP-903).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import RECOVERED, Partition
from controller_runtime.protocol.messages.alter_partition_response import PartitionData
from support.simulation.machine import Machine
from support.simulation.replication.replica import Key, Replica
from support.simulation.world import Violation, World

if TYPE_CHECKING:
    from support.simulation.replication.broker import ReplicatingBroker

MIN_INSYNC: Final = 2
State = tuple[int, int, tuple[int, ...]]
"""Leader, leader epoch, ISR."""


class Judge:
    def __init__(self) -> None:
        self.brokers: dict[int, ReplicatingBroker] = {}
        self.acked: dict[Key, dict[int, int]] = {}
        """What was acknowledged: values by offset."""
        self.on_leave: Callable[[ReplicatingBroker], None] = lambda _: None
        """What follows when a broker has left in peace."""
        self.led = 0
        """How often a broker began to lead."""
        self.grants = 0
        self.given_up = 0
        """Records that were lost with all replicas that had them."""
        self.unclean: set[Key] = set()
        """Where an administrator asked for an unclean election."""
        self.has_elr = True
        self._leaders: dict[tuple[Key, int], tuple[int, int]] = {}
        """Who led an epoch: the broker and which of its runs."""
        self._states: dict[tuple[Key, int], State] = {}
        """By partition epoch."""
        self._seen = self._before = MetadataImage.empty()

    @property
    def count(self) -> int:
        return sum(map(len, self.acked.values()))

    # What brokers say.

    def leads(self, broker: ReplicatingBroker, key: Key, epoch: int, replica: Replica) -> None:
        self.led += 1
        claim = (broker.broker_id, broker.boots)
        first = self._leaders.setdefault((key, epoch), claim)
        if first[0] != claim[0]:
            raise Violation(f"{_named(key)}: brokers {first[0]} and {claim[0]} lead epoch {epoch}")
        self._has_all(broker.broker_id, key, replica, f"begins to lead epoch {epoch}")

    def acknowledged(self, key: Key, offset: int, value: int) -> None:
        self.acked.setdefault(key, {})[offset] = value
        newest = self._seen.topics.partition(*key)
        if newest is not None:
            self._look_at_members(key, newest)

    def granted(self, key: Key, answer: PartitionData, epochs: dict[int, int]) -> None:
        """`epochs`: the incarnations that were meant, if the request named them (KIP-903)."""
        self.grants += 1
        newest = self._seen.topics.partition(*key)
        if newest is not None and newest.partition_epoch == answer.partition_epoch:
            for member in answer.isr:
                known = self._seen.cluster.brokers.get(NodeId(member))
                if known is None or known.epoch != epochs.get(member, known.epoch):
                    raise Violation(
                        f"{_named(key)}: {member} is in ISR {answer.isr} as {epochs[member]}, and registered anew"
                    )
        self._same_state(key, answer.partition_epoch, (answer.leader_id, answer.leader_epoch, answer.isr))

    def left(self, broker: ReplicatingBroker) -> None:
        self.on_leave(broker)

    # What is committed.

    def after_step(self, world: World, _: Machine) -> None:
        image, before = world.newest[1], self._seen
        if image is before:
            return
        self._seen, self._before = image, before
        for topic in image.topics:
            for index, partition in topic.partitions():
                old = before.topics.partition(topic.id, index)
                if old != partition or image.cluster is not before.cluster:
                    self._look_at((topic.id, index), partition, old)

    def _look_at(self, key: Key, new: Partition, old: Partition | None) -> None:
        if old is not None and old != new:
            self._look_at_epochs(key, new, old)
        self._same_state(key, new.partition_epoch, (new.leader, new.leader_epoch, new.isr))
        if not {*new.isr, *new.elr} <= {*new.replicas} or {*new.elr} & {*new.isr}:
            raise Violation(f"{_named(key)}: ISR {new.isr}, ELR {new.elr} of replicas {new.replicas}")
        if old is not None and new.leader_recovery_state != RECOVERED == old.leader_recovery_state:
            self._give_up(key, new, old)
        if old is not None and self.has_elr:
            self._look_at_leavers(key, new, old)
        if new.leader >= 0:
            self._look_at_leader(key, new)
        self._look_at_members(key, new)

    def _look_at_epochs(self, key: Key, new: Partition, old: Partition) -> None:
        if new.leader_epoch < old.leader_epoch or new.partition_epoch <= old.partition_epoch:
            raise Violation(f"{_named(key)}: epochs do not grow: {old} -> {new}")
        if new.leader != old.leader and new.leader_epoch == old.leader_epoch:
            raise Violation(f"{_named(key)}: two leaders of epoch {new.leader_epoch}: {old.leader}, {new.leader}")
        if not set(old.replicas) <= set(new.replicas) and new.leader_epoch == old.leader_epoch:
            raise Violation(f"{_named(key)}: replicas {old.replicas} -> {new.replicas} in one leader epoch")

    def _look_at_leader(self, key: Key, new: Partition) -> None:
        if new.leader not in new.isr:
            raise Violation(f"{_named(key)}: leader {new.leader} is not in its ISR {new.isr}")
        for member in new.isr:
            broker = self._seen.cluster.brokers.get(NodeId(member))
            if broker is None or broker.fenced or broker.in_controlled_shutdown:
                state = "fenced" if broker is None or broker.fenced else "leaving"
                raise Violation(f"{_named(key)}: {state} broker {member} is in ISR {new.isr}, led by {new.leader}")

    def _give_up(self, key: Key, new: Partition, old: Partition) -> None:
        """The last known leader leads again: that all others crashed is seen by who left."""
        leader = new.leader if new.leader >= 0 else next(iter(new.last_known_elr), old.leader)
        is_last_known = self.has_elr and leader in (old.leader, *old.last_known_elr)
        if not is_last_known and key not in self.unclean:
            raise Violation(f"{_named(key)}: {leader} was elected unclean, which nobody allowed: {old}")
        self._count_as_lost(key, leader)

    def _count_as_lost(self, key: Key, leader: int) -> None:
        """What this leader has not."""
        acked = self.acked.get(key, {})
        replica = self.brokers[leader].replicas.get(key)
        entries = [] if replica is None else replica.entries
        lost = [offset for offset, value in acked.items() if offset >= len(entries) or entries[offset][1] != value]
        for offset in lost:
            del acked[offset]
        self.given_up += len(lost)

    def _look_at_leavers(self, key: Key, new: Partition, old: Partition) -> None:
        if len(new.isr) >= MIN_INSYNC or new.partition_epoch != old.partition_epoch + 1:
            return  # In between both may have been emptied and filled anew.
        for member in ({*old.isr, *old.elr} - {*new.isr, *new.elr}) & {*new.replicas}:
            known = self._before.cluster.brokers.get(NodeId(member))
            if known is not None and known.incarnation_id not in self.brokers[member].crashed:
                raise Violation(f"{_named(key)}: {member} is in neither ISR nor ELR, and did not crash: {old} -> {new}")

    def _look_at_members(self, key: Key, partition: Partition) -> None:
        for member in (*partition.isr, *partition.elr):
            broker, known = self.brokers[member], self._seen.cluster.brokers.get(NodeId(member))
            if known is None or known.incarnation_id in broker.lost:
                continue  # It lost its power, and the controller cannot know yet.
            replica = broker.replicas.get(key)
            if replica is not None:
                self._has_all(member, key, replica, f"is in ISR {partition.isr} or ELR {partition.elr}")

    def _has_all(self, broker: int, key: Key, replica: Replica, what: str) -> None:
        acked = self.acked.get(key)
        if not acked:
            return
        last = next(reversed(acked))
        if replica.end <= last or replica.entries[last][1] != acked[last]:
            raise Violation(
                f"{_named(key)}: broker {broker} {what} and has no acknowledged record {last}: {replica.end}"
            )

    def _same_state(self, key: Key, partition_epoch: int, state: State) -> None:
        first = self._states.setdefault((key, partition_epoch), state)
        if first != state:
            raise Violation(f"{_named(key)}: partition epoch {partition_epoch} is {first} and {state}")

    # The end.

    def everything_is_there(self) -> None:
        """Every replica has every acknowledged record."""
        for key, acked in self.acked.items():
            partition = self._seen.topics.partition(*key)
            assert partition is not None, f"{_named(key)} is gone"
            for member in partition.replicas:
                entries = self.brokers[member].replicas[key].entries
                for offset, value in acked.items():
                    if offset >= len(entries) or entries[offset][1] != value:
                        raise Violation(f"{_named(key)}: broker {member} has lost record {offset}")

    def may_lose(self, victim: ReplicatingBroker) -> bool:
        """Whether nothing is lost if this broker forgets what it has not flushed: another of ISR or ELR has it all."""
        for key, acked in self.acked.items():
            partition = self._seen.topics.partition(*key)
            if partition is None or victim.broker_id not in partition.replicas:
                continue
            others = {*partition.isr, *partition.elr} - {victim.broker_id}
            if not any(self._keeps(other, key, acked) for other in others):
                return False
        return True

    def _keeps(self, member: int, key: Key, acked: dict[int, int]) -> bool:
        broker, known = self.brokers[member], self._seen.cluster.brokers.get(NodeId(member))
        replica = broker.replicas.get(key)
        return (
            replica is not None
            and known is not None
            and known.incarnation_id not in broker.lost
            and replica.end > max(acked, default=-1)
        )


def _named(key: Key) -> str:
    return f"partition {key[0]}-{key[1]}"
