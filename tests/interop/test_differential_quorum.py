"""What controllers ask each other, as a stranger may say it, and changes of the voter set that are refused: as Apache
Kafka answers them.

Nothing here raises an epoch or names another leader of this one, and no FetchSnapshot is without a partition: a Kafka
that is told of these ends.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, ZERO_UUID, Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages import add_raft_voter_request as add_q
from controller_runtime.protocol.messages import begin_quorum_epoch_request as begin_q
from controller_runtime.protocol.messages import describe_quorum_request as describe_q
from controller_runtime.protocol.messages import end_quorum_epoch_request as end_q
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import fetch_snapshot_request as snapshot_q
from controller_runtime.protocol.messages import update_raft_voter_request as update_q
from controller_runtime.protocol.messages import vote_request as vote_q
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Case, Pair, Side, Table, Unlike, judge
from support.apache_kafka.node_pairs import DIRECTORY_ID, NODE_ID
from support.nodes.processes import CLUSTER_ID

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
CONTROLLER = (ListenerType.CONTROLLER,)
OTHERS = Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0BAD)
ANOTHER_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
META = METADATA_TOPIC_NAME
Asker = Callable[[Side], Message]


def _epoch(side: Side) -> int:
    """Of the quorum; asked once."""
    if "quorum" not in side.kept:
        topic = describe_q.TopicData(topic_name=META, partitions=(describe_q.PartitionData(),))
        side.kept["quorum"] = side.call(ListenerType.CONTROLLER, describe_q.DescribeQuorumRequest(topics=(topic,)), 2)
    epoch: int = side.kept["quorum"].topics[0].partitions[0].leader_epoch
    return epoch


def _vote(
    behind: int = 0,
    *,
    cluster: str | None = CLUSTER_ID,
    voter: int = NODE_ID,
    voter_directory: Uuid = DIRECTORY_ID,
    replica: int = 2,
    directory: Uuid = OTHERS,
    last: tuple[int, int] = (0, 0),
    pre: bool = False,
    topics: tuple[str, ...] = (META,),
    partitions: tuple[int, ...] = (0,),
) -> Asker:
    def ask(side: Side) -> Message:
        asked = tuple(
            vote_q.PartitionData(
                partition_index=index,
                replica_epoch=_epoch(side) - behind,
                replica_id=replica,
                replica_directory_id=directory,
                voter_directory_id=voter_directory,
                last_offset=last[0],
                last_offset_epoch=last[1],
                pre_vote=pre,
            )
            for index in partitions
        )
        data = tuple(vote_q.TopicData(topic_name=name, partitions=asked) for name in topics)
        return vote_q.VoteRequest(cluster_id=cluster, voter_id=voter, topics=data)

    return ask


VOTE = Table(
    ApiKey.VOTE,
    CONTROLLER,
    (
        Case("in this epoch", _vote()),
        Case("in an earlier epoch", _vote(1)),
        Case("in epoch -1", _vote(2)),
        Case("in no epoch at all", _vote(100)),
        Case("of another cluster", _vote(cluster=ANOTHER_CLUSTER)),
        Case("of a cluster without a name", _vote(cluster="")),
        Case("of no cluster", _vote(cluster=None)),
        Case("of another cluster, another topic", _vote(cluster=ANOTHER_CLUSTER, topics=("orders",))),
        Case("of another topic", _vote(topics=("orders",))),
        Case("of no topic", _vote(topics=())),
        Case("of two topics", _vote(topics=(META, META))),
        Case("of another partition", _vote(partitions=(1,))),
        Case("of partition -1", _vote(partitions=(-1,))),
        Case("of no partition", _vote(partitions=())),
        Case("of two partitions", _vote(partitions=(0, 1))),
        Case("to another voter", _vote(voter=2), (1, 2)),
        Case("to voter -1", _vote(voter=-1), (1, 2)),
        Case("to another directory", _vote(voter_directory=OTHERS), (1, 2)),
        Case("to no directory", _vote(voter_directory=ZERO_UUID), (1, 2)),
        Case("to no voter and another directory", _vote(voter=-1, voter_directory=OTHERS), (1, 2)),
        Case("by this node", _vote(replica=NODE_ID, directory=DIRECTORY_ID)),
        Case("by this node's id", _vote(replica=NODE_ID)),
        Case("by node -1", _vote(replica=-1)),
        Case("by a node without a directory", _vote(directory=ZERO_UUID)),
        Case("with a log of a later epoch", _vote(last=(10, 2**31 - 1))),
        Case("with a log that is longer", _vote(last=(2**62, 0))),
        Case("with offset -1", _vote(last=(-1, 0))),
        Case("with epoch -1", _vote(last=(0, -1))),
        Case("to see", _vote(pre=True), (2,)),
        Case("to see, with a longer log", _vote(pre=True, last=(2**62, 0)), (2,)),
        Case("to see, in an earlier epoch", _vote(1, pre=True), (2,)),
        Case("to see, of another cluster", _vote(pre=True, cluster=ANOTHER_CLUSTER), (2,)),
        Case("to see, to another voter", _vote(pre=True, voter=2), (2,)),
        Case("to see, with offset -1", _vote(pre=True, last=(-1, 0)), (2,)),
    ),
)


def _begin(
    behind: int = 0,
    leader: int = NODE_ID,
    *,
    cluster: str | None = CLUSTER_ID,
    voter: int = NODE_ID,
    voter_directory: Uuid = DIRECTORY_ID,
    topics: tuple[str, ...] = (META,),
    partitions: tuple[int, ...] = (0,),
    listeners: tuple[str, ...] = ("CONTROLLER",),
) -> Asker:
    def ask(side: Side) -> Message:
        asked = tuple(
            begin_q.PartitionData(
                partition_index=index,
                voter_directory_id=voter_directory,
                leader_id=leader,
                leader_epoch=_epoch(side) - behind,
            )
            for index in partitions
        )
        data = tuple(begin_q.TopicData(topic_name=name, partitions=asked) for name in topics)
        at = tuple(begin_q.LeaderEndpoint(name=name, host="127.0.0.1", port=1) for name in listeners)
        return begin_q.BeginQuorumEpochRequest(cluster_id=cluster, voter_id=voter, topics=data, leader_endpoints=at)

    return ask


BEGIN_QUORUM_EPOCH = Table(
    ApiKey.BEGIN_QUORUM_EPOCH,
    CONTROLLER,
    (
        Case("in this epoch", _begin()),
        Case("in an earlier epoch", _begin(1)),
        Case("in epoch -1", _begin(2)),
        Case("in an earlier epoch, by another", _begin(1, 2)),
        Case("in an earlier epoch, by node -1", _begin(1, -1)),
        Case("of another cluster", _begin(cluster=ANOTHER_CLUSTER)),
        Case("of no cluster", _begin(cluster=None)),
        Case("of another topic", _begin(topics=("orders",))),
        Case("of no topic", _begin(topics=())),
        Case("of two topics", _begin(topics=(META, META))),
        Case("of another partition", _begin(partitions=(1,))),
        Case("of no partition", _begin(partitions=())),
        Case("of two partitions", _begin(partitions=(0, 1))),
        Case("to another voter", _begin(voter=2), (1,)),
        Case("to voter -1", _begin(voter=-1), (1,)),
        Case("to another directory", _begin(voter_directory=OTHERS), (1,)),
        Case("to no directory", _begin(voter_directory=ZERO_UUID), (1,)),
        Case("without listeners", _begin(listeners=()), (1,)),
        Case("with another listener", _begin(listeners=("OTHER",)), (1,)),
        Case("with a listener twice", _begin(listeners=("CONTROLLER", "CONTROLLER")), (1,)),
        *(
            Case(f"in an earlier epoch, {name}", ask, (1,))
            for name, ask in (
                ("to another voter", _begin(1, voter=2)),
                ("to another directory", _begin(1, voter_directory=OTHERS)),
                ("without listeners", _begin(1, listeners=())),
            )
        ),
    ),
    unlike=(Unlike("*", "the leader's own node id is answered 74", fields=("errorCode",)),),
)


def _end(
    behind: int = 0,
    leader: int = NODE_ID,
    *,
    cluster: str | None = CLUSTER_ID,
    topics: tuple[str, ...] = (META,),
    partitions: tuple[int, ...] = (0,),
    successors: tuple[int, ...] = (2,),
) -> Asker:
    def ask(side: Side) -> Message:
        asked = tuple(
            end_q.PartitionData(
                partition_index=index,
                leader_id=leader,
                leader_epoch=_epoch(side) - behind,
                preferred_successors=successors,
                preferred_candidates=tuple(end_q.ReplicaInfo(candidate_id=each) for each in successors),
            )
            for index in partitions
        )
        data = tuple(end_q.TopicData(topic_name=name, partitions=asked) for name in topics)
        return end_q.EndQuorumEpochRequest(cluster_id=cluster, topics=data)

    return ask


END_QUORUM_EPOCH = Table(
    ApiKey.END_QUORUM_EPOCH,
    CONTROLLER,
    (
        Case("of an earlier epoch", _end(1)),
        Case("of an earlier epoch, by another", _end(1, 2)),
        Case("of epoch -1", _end(2)),
        Case("of an earlier epoch, for nobody", _end(1, successors=())),
        Case("of an earlier epoch, for this node", _end(1, successors=(NODE_ID,))),
        Case("by node -1", _end(1, -1)),
        Case("of another cluster", _end(1, cluster=ANOTHER_CLUSTER)),
        Case("of this epoch, of another cluster", _end(cluster=ANOTHER_CLUSTER)),
        Case("of no cluster", _end(1, cluster=None)),
        Case("of another topic", _end(1, topics=("orders",))),
        Case("of no topic", _end(1, topics=())),
        Case("of two topics", _end(1, topics=(META, META))),
        Case("of another partition", _end(1, partitions=(1,))),
        Case("of no partition", _end(1, partitions=())),
        Case("of two partitions", _end(1, partitions=(0, 1))),
    ),
)


def _fetch(
    offset: int = 2**40,
    *,
    epoch: int = 0,
    behind: int | None = None,
    last_epoch: int = -1,
    cluster: str | None = CLUSTER_ID,
    replica: int = -1,
    directory: Uuid = ZERO_UUID,
    topic_id: Uuid = METADATA_TOPIC_ID,
    topics: int = 1,
    partitions: tuple[int, ...] = (0,),
) -> Callable[[Side], Message]:
    def ask(side: Side) -> Message:
        asked = tuple(
            fetch_q.FetchPartition(
                partition=index,
                current_leader_epoch=_epoch(side) - behind if behind is not None else epoch,
                fetch_offset=offset,
                last_fetched_epoch=last_epoch,
                partition_max_bytes=1_000_000,
                replica_directory_id=directory,
            )
            for index in partitions
        )
        data = topics * (fetch_q.FetchTopic(topic_id=topic_id, partitions=asked),)
        who = fetch_q.ReplicaState(replica_id=replica)
        return fetch_q.FetchRequest(cluster_id=cluster, replica_state=who, topics=data)

    return ask


def _named_fetch(name: str = META, partitions: tuple[int, ...] = (0,), epoch: int = -1) -> fetch_q.FetchRequest:
    asked = tuple(
        fetch_q.FetchPartition(partition=index, current_leader_epoch=epoch, fetch_offset=0, partition_max_bytes=1000)
        for index in partitions
    )
    return fetch_q.FetchRequest(topics=(fetch_q.FetchTopic(topic=name, partitions=asked),))


NEW_FETCH = range(15, 19)
FETCH = Table(
    ApiKey.FETCH,
    CONTROLLER,
    (
        Case("by another name", _named_fetch("orders"), range(4, 13)),
        Case("by name", _named_fetch(), range(4, 13)),
        Case("another partition by name", _named_fetch(partitions=(1,)), range(4, 13)),
        Case("no partition by name", _named_fetch(partitions=()), range(4, 13)),
        Case("two partitions by name", _named_fetch(partitions=(0, 1)), range(4, 13)),
        Case("an old epoch by name", _named_fetch(epoch=0), range(9, 13)),
        Case("nothing", fetch_q.FetchRequest(), range(4, 19)),
        Case("an old epoch", _fetch(behind=1), NEW_FETCH),
        Case("epoch -1", _fetch(epoch=-1), NEW_FETCH),
        Case("epoch -2", _fetch(epoch=-2), NEW_FETCH),
        Case("another cluster", _fetch(behind=0, cluster=ANOTHER_CLUSTER), NEW_FETCH),
        Case("another topic", _fetch(behind=0, topic_id=OTHERS), NEW_FETCH),
        Case("no topic's id", _fetch(behind=0, topic_id=ZERO_UUID), NEW_FETCH),
        Case("the topic twice", _fetch(behind=0, topics=2), NEW_FETCH),
        Case("no topic", _fetch(behind=0, topics=0), NEW_FETCH),
        Case("another partition", _fetch(behind=0, partitions=(1,)), NEW_FETCH),
        Case("no partition", _fetch(behind=0, partitions=()), NEW_FETCH),
        Case("two partitions", _fetch(behind=0, partitions=(0, 1)), NEW_FETCH),
        Case("from offset -1", _fetch(-1, behind=0), NEW_FETCH),
        Case("from offset -1 of epoch 0", _fetch(-1, behind=0, last_epoch=0), NEW_FETCH),
        Case("from beyond the end", _fetch(behind=0, last_epoch=0), NEW_FETCH),
        Case("from beyond the end, no epoch", _fetch(behind=0), NEW_FETCH),
        Case("of a later epoch than the leader's", _fetch(behind=0, last_epoch=2**31 - 1), NEW_FETCH),
        Case("last epoch -2", _fetch(behind=0, last_epoch=-2), NEW_FETCH),
        Case("by replica -2", _fetch(behind=1, replica=-2), NEW_FETCH),
        Case("by an observer, old epoch", _fetch(behind=1, replica=77, directory=OTHERS), NEW_FETCH),
        Case("by this node", _fetch(behind=1, replica=NODE_ID, directory=DIRECTORY_ID), NEW_FETCH),
    ),
)


def _snapshot(
    end: tuple[int, int] = (2**40, 1),
    *,
    position: int = 0,
    behind: int = 0,
    cluster: str | None = CLUSTER_ID,
    name: str = META,
    topics: int = 1,
    partitions: tuple[int, ...] = (0,),
    replica: int = -1,
    max_bytes: int = 1_000_000,
) -> Asker:
    def ask(side: Side) -> Message:
        asked = tuple(
            snapshot_q.PartitionSnapshot(
                partition=index,
                current_leader_epoch=_epoch(side) - behind,
                snapshot_id=snapshot_q.SnapshotId(end_offset=end[0], epoch=end[1]),
                position=position,
            )
            for index in partitions
        )
        data = topics * (snapshot_q.TopicSnapshot(name=name, partitions=asked),)
        return snapshot_q.FetchSnapshotRequest(cluster_id=cluster, replica_id=replica, max_bytes=max_bytes, topics=data)

    return ask


FETCH_SNAPSHOT = Table(
    ApiKey.FETCH_SNAPSHOT,
    CONTROLLER,
    (
        Case("one that is not there", _snapshot()),
        Case("of offset -1", _snapshot((-1, 1))),
        Case("of epoch -1", _snapshot((10, -1))),
        Case("of an old epoch", _snapshot(behind=1)),
        Case("of another cluster", _snapshot(cluster=ANOTHER_CLUSTER)),
        Case("of no cluster", _snapshot(cluster=None)),
        Case("of another topic", _snapshot(name="orders")),
        Case("of two topics", _snapshot(topics=2)),
        Case("of another partition", _snapshot(partitions=(1,))),
        Case("of two partitions", _snapshot(partitions=(0, 1))),
        Case("from position -1", _snapshot(position=-1)),
        Case("from far behind", _snapshot(position=2**62)),
        Case("of no bytes", _snapshot(max_bytes=0)),
        Case("of -1 bytes", _snapshot(max_bytes=-1)),
        Case("by this node", _snapshot(replica=NODE_ID)),
        Case("the first", _snapshot((0, 0))),
        Case("of no bytes", _snapshot((0, 0), max_bytes=0)),
        Case("of -1 bytes", _snapshot((0, 0), max_bytes=-1)),
        Case("a piece", _snapshot((0, 0), max_bytes=100)),
        Case("a piece from the middle", _snapshot((0, 0), position=50, max_bytes=100)),
        Case("the first from behind its end", _snapshot((0, 0), position=2**40)),
        Case("the first from position -1", _snapshot((0, 0), position=-1)),
    ),
    unlike=(Unlike("*", "**FetchSnapshot errors.**", fields=("errorCode", "topics", "nodeEndpoints")),),
)


def _added(
    voter: int = 2,
    directory: Uuid = OTHERS,
    *,
    cluster: str | None = CLUSTER_ID,
    listeners: tuple[tuple[str, str, int], ...] = (("CONTROLLER", "127.0.0.1", 1),),
    timeout_ms: int = 1000,
) -> add_q.AddRaftVoterRequest:
    at = tuple(add_q.Listener(name=name, host=host, port=port) for name, host, port in listeners)
    return add_q.AddRaftVoterRequest(
        cluster_id=cluster, timeout_ms=timeout_ms, voter_id=voter, voter_directory_id=directory, listeners=at
    )


def _added_twice() -> Callable[[Side], add_q.AddRaftVoterRequest]:
    """Somebody else each time: who was not reached a moment ago is not tried again, and how long that is depends on the
    machine's load.
    """
    numbers: dict[str, int] = {}

    def ask(side: Side) -> add_q.AddRaftVoterRequest:
        number = numbers[side.name] = numbers.get(side.name, 0) + 1
        at = ("CONTROLLER", "127.0.0.1", number)
        return _added(100 + number, listeners=(at, at))

    return ask


ADD_RAFT_VOTER = Table(
    ApiKey.ADD_RAFT_VOTER,
    BOTH,
    (
        Case("this node", _added(NODE_ID, DIRECTORY_ID)),
        Case("this node's id", _added(NODE_ID)),
        Case("of another cluster", _added(cluster=ANOTHER_CLUSTER)),
        Case("of a cluster without a name", _added(cluster="")),
        Case("node -1", _added(-1)),
        Case("the lowest node", _added(-(2**31))),
        Case("without a directory", _added(2, ZERO_UUID)),
        Case("without listeners", _added(listeners=())),
        Case("without the right listener", _added(listeners=(("OTHER", "127.0.0.1", 1),))),
        Case("a listener twice", _added_twice()),
        Case("this node without listeners", _added(NODE_ID, DIRECTORY_ID, listeners=())),
        Case("this node of no cluster", _added(NODE_ID, DIRECTORY_ID, cluster=None)),
        Case("this node in no time", _added(NODE_ID, DIRECTORY_ID, timeout_ms=0)),
        Case("another directory's node 1 in less than no time", _added(NODE_ID, timeout_ms=-1)),
    ),
)


def _removed(voter: int = 2, directory: Uuid = OTHERS, cluster: str | None = CLUSTER_ID) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(cluster_id=cluster, voter_id=voter, voter_directory_id=directory)


REMOVE_RAFT_VOTER = Table(
    ApiKey.REMOVE_RAFT_VOTER,
    BOTH,
    (
        Case("who is none", _removed()),
        Case("this node by another directory", _removed(NODE_ID)),
        Case("this node by no directory", _removed(NODE_ID, ZERO_UUID)),
        Case("another by this node's directory", _removed(2, DIRECTORY_ID)),
        Case("of another cluster", _removed(cluster=ANOTHER_CLUSTER)),
        Case("this node, of another cluster", _removed(NODE_ID, DIRECTORY_ID, ANOTHER_CLUSTER)),
        Case("of a cluster without a name", _removed(cluster="")),
        Case("of no cluster", _removed(cluster=None)),
        Case("node -1", _removed(-1)),
        Case("the highest node", _removed(2**31 - 1)),
        Case("without a directory", _removed(2, ZERO_UUID)),
    ),
)


def _updated(
    behind: int = 0,
    voter: int = NODE_ID,
    directory: Uuid = DIRECTORY_ID,
    *,
    cluster: str | None = CLUSTER_ID,
    listeners: tuple[str, ...] = ("CONTROLLER",),
    levels: tuple[int, int] = (0, 1),
) -> Asker:
    def ask(side: Side) -> Message:
        at = tuple(
            update_q.Listener(name=name, host="127.0.0.1", port=side.ports[ListenerType.CONTROLLER])
            for name in listeners
        )
        return update_q.UpdateRaftVoterRequest(
            cluster_id=cluster,
            current_leader_epoch=_epoch(side) - behind,
            voter_id=voter,
            voter_directory_id=directory,
            listeners=at,
            kraft_version_feature=update_q.KRaftVersionFeature(
                min_supported_version=levels[0], max_supported_version=levels[1]
            ),
        )

    return ask


UPDATE_RAFT_VOTER = Table(
    ApiKey.UPDATE_RAFT_VOTER,
    CONTROLLER,
    (
        Case("in an old epoch", _updated(1)),
        Case("in epoch -1", _updated(2)),
        Case("who is none", _updated(0, 2, OTHERS)),
        Case("this node by another directory", _updated(0, NODE_ID, OTHERS)),
        Case("this node by no directory", _updated(0, NODE_ID, ZERO_UUID)),
        Case("node -1", _updated(0, -1)),
        Case("of another cluster", _updated(cluster=ANOTHER_CLUSTER)),
        Case("of a cluster without a name", _updated(cluster="")),
        Case("of no cluster, in an old epoch", _updated(1, cluster=None)),
        Case("without listeners", _updated(0, 2, listeners=())),
        Case("without the right listener", _updated(0, 2, listeners=("OTHER",))),
        Case("with a listener more", _updated(0, 2, listeners=("CONTROLLER", "OTHER"))),
        Case("with a listener twice", _updated(0, 2, listeners=("CONTROLLER", "CONTROLLER"))),
        Case("that knows only kraft 0", _updated(0, 2, levels=(0, 0))),
        Case("that knows only later ones", _updated(0, 2, levels=(2, 3))),
        Case("that knows from 1 to 0", _updated(0, 2, levels=(1, 0))),
    ),
)

TABLES = (
    VOTE, BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, FETCH, FETCH_SNAPSHOT,
    ADD_RAFT_VOTER, REMOVE_RAFT_VOTER, UPDATE_RAFT_VOTER,
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name)
def test_the_quorum_answers_strangers_as_kafka_does(pair: Pair, table: Table) -> None:
    assert judge(pair, table) >= 20
