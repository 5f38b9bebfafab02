"""The matrix's questions about groups and transactions: each names what the ACLs of the matrix are about, and asks so
that nothing waits and nobody joins where it is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from controller_runtime.coordinator.share_state.ports import KEYS as SHARE_STATES
from controller_runtime.protocol.api_keys import ApiKey, api
from controller_runtime.protocol.messages import (
    add_partitions_to_txn_request,
    alter_share_group_offsets_request,
    delete_share_group_offsets_request,
    describe_producers_request,
    describe_share_group_offsets_request,
    leave_group_request,
    offset_commit_request,
    offset_delete_request,
    offset_fetch_request,
    streams_group_heartbeat_request,
    txn_offset_commit_request,
    write_txn_markers_request,
)
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Side
from support.apache_kafka.matrix_bodies import GROUP, NOBODYS, NOT_THERE, THERE, Body, id_of, made, same
from support.nodes.busy_shares import of_shares

GROUPS: Final = (GROUP, THERE)
"""The second one has the name of the topic, which is what is denied."""
TRANSACTIONS: Final = ("tx", THERE)
TOPICS: Final = (THERE, NOT_THERE)
FILTERED: Final = (ApiKey.LIST_GROUPS, ApiKey.LIST_TRANSACTIONS, ApiKey.OFFSET_FETCH)
"""What the client may not see is left out without an error."""


def _fetched(*, every: bool) -> Body:
    """As from version 8 on."""

    def of(side: Side) -> Message:
        topics = tuple(
            offset_fetch_request.OffsetFetchRequestTopics(name=name, topic_id=id_of(side, name), partition_indexes=(0,))
            for name in TOPICS
        )
        wanted = tuple(
            offset_fetch_request.OffsetFetchRequestGroup(group_id=group, topics=None if every else topics)
            for group in GROUPS
        )
        return made("OffsetFetchRequest", groups=wanted)

    return of


def _committed(group: str) -> Body:
    def of(side: Side) -> Message:
        topics = tuple(
            offset_commit_request.OffsetCommitRequestTopic(
                name=name,
                topic_id=id_of(side, name),
                partitions=(offset_commit_request.OffsetCommitRequestPartition(committed_offset=1),),
            )
            for name in TOPICS
        )
        return made("OffsetCommitRequest", group_id=group, topics=topics)

    return of


def _added(name: str) -> add_partitions_to_txn_request.AddPartitionsToTxnTopic:
    return add_partitions_to_txn_request.AddPartitionsToTxnTopic(name=name, partitions=(0,))


def _txn_committed(transaction: str, group: str) -> Body:
    topics = tuple(
        txn_offset_commit_request.TxnOffsetCommitRequestTopic(
            name=name,
            partitions=(txn_offset_commit_request.TxnOffsetCommitRequestPartition(committed_offset=1),),
        )
        for name in TOPICS
    )
    return same("TxnOffsetCommitRequest", transactional_id=transaction, group_id=group, producer_id=99, topics=topics)


def _of_each_group(request: str, **fields: Any) -> dict[str, Body]:
    return {group: same(request, group_id=group, **fields) for group in GROUPS}


def _of_each_transaction(request: str, **fields: Any) -> dict[str, Body]:
    return {name: same(request, transactional_id=name, **fields) for name in TRANSACTIONS}


def _share_state(key: ApiKey) -> Body:
    message = of_shares((NOBODYS,), 1)[api(key).name]
    return lambda _: message


NAMING: Final[Mapping[ApiKey, Mapping[str, Body]]] = {
    ApiKey.JOIN_GROUP: _of_each_group("JoinGroupRequest", session_timeout_ms=1, protocol_type="consumer"),
    ApiKey.SYNC_GROUP: _of_each_group("SyncGroupRequest", generation_id=1, member_id="nobody"),
    ApiKey.HEARTBEAT: _of_each_group("HeartbeatRequest", generation_id=1, member_id="nobody"),
    ApiKey.LEAVE_GROUP: {
        **_of_each_group("LeaveGroupRequest", member_id="nobody"),
        **{
            f"{group}, of several": same(
                "LeaveGroupRequest",
                group_id=group,
                members=(leave_group_request.MemberIdentity(member_id="nobody"),),
            )
            for group in GROUPS
        },
    },
    ApiKey.OFFSET_COMMIT: {group: _committed(group) for group in GROUPS},
    ApiKey.OFFSET_FETCH: {
        "both": _fetched(every=False),
        "all of both": _fetched(every=True),
        **{
            f"{group} of old": same(
                "OffsetFetchRequest",
                group_id=group,
                topics=tuple(
                    offset_fetch_request.OffsetFetchRequestTopic(name=name, partition_indexes=(0,)) for name in TOPICS
                ),
            )
            for group in GROUPS
        },
    },
    ApiKey.OFFSET_DELETE: _of_each_group(
        "OffsetDeleteRequest",
        topics=tuple(
            offset_delete_request.OffsetDeleteRequestTopic(
                name=name, partitions=(offset_delete_request.OffsetDeleteRequestPartition(partition_index=7),)
            )
            for name in TOPICS
        ),
    ),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {
        f"{group}, {len(names or ())} topics": same(
            "ConsumerGroupHeartbeatRequest",
            group_id=group,
            member_id="AAAAAAAAAAAAAAAAAAAAAg",
            member_epoch=7,
            subscribed_topic_names=names,
        )
        for group in GROUPS
        for names in (None, (THERE,), TOPICS)
    },
    ApiKey.SHARE_GROUP_HEARTBEAT: {
        f"{group}, {len(names or ())} topics": same(
            "ShareGroupHeartbeatRequest", group_id=group, member_id="a", member_epoch=7, subscribed_topic_names=names
        )
        for group in GROUPS
        for names in (None, (THERE,), TOPICS)
    },
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: {
        "both": same(
            "DescribeShareGroupOffsetsRequest",
            groups=tuple(
                describe_share_group_offsets_request.DescribeShareGroupOffsetsRequestGroup(
                    group_id=group,
                    topics=tuple(
                        describe_share_group_offsets_request.DescribeShareGroupOffsetsRequestTopic(topic_name=name)
                        for name in TOPICS
                    ),
                )
                for group in GROUPS
            ),
        )
    },
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: {
        group: same(
            "AlterShareGroupOffsetsRequest",
            group_id=group,
            # Of a topic that is there it would make a share group of this name, where that is allowed.
            topics=(
                alter_share_group_offsets_request.AlterShareGroupOffsetsRequestTopic(
                    topic_name=NOT_THERE,
                    partitions=(
                        alter_share_group_offsets_request.AlterShareGroupOffsetsRequestPartition(partition_index=0),
                    ),
                ),
            ),
        )
        for group in GROUPS
    },
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: {
        f"{group}": same(
            "DeleteShareGroupOffsetsRequest",
            group_id=group,
            topics=tuple(
                delete_share_group_offsets_request.DeleteShareGroupOffsetsRequestTopic(topic_name=name)
                for name in TOPICS
            ),
        )
        for group in GROUPS
    },
    ApiKey.SHARE_GROUP_DESCRIBE: {
        "both": same("ShareGroupDescribeRequest", group_ids=GROUPS, include_authorized_operations=True)
    },
    ApiKey.STREAMS_GROUP_HEARTBEAT: {
        f"{group}, {len(names)} topics": same(
            "StreamsGroupHeartbeatRequest",
            group_id=group,
            member_id="a",
            member_epoch=7,
            # A topology is told by who joins: it is looked at, and the request refused.
            topology=streams_group_heartbeat_request.Topology(
                subtopologies=(streams_group_heartbeat_request.Subtopology(subtopology_id="0", source_topics=names),)
            )
            if names
            else None,
        )
        for group in GROUPS
        for names in ((), (THERE,), TOPICS)
    },
    ApiKey.STREAMS_GROUP_DESCRIBE: {
        "both": same("StreamsGroupDescribeRequest", group_ids=GROUPS, include_authorized_operations=True)
    },
    ApiKey.CONSUMER_GROUP_DESCRIBE: {
        "both": same("ConsumerGroupDescribeRequest", group_ids=GROUPS, include_authorized_operations=True)
    },
    ApiKey.DESCRIBE_GROUPS: {
        "both": same("DescribeGroupsRequest", groups=GROUPS),
        "both, with bits": same("DescribeGroupsRequest", groups=GROUPS, include_authorized_operations=True),
    },
    ApiKey.DELETE_GROUPS: {"both": same("DeleteGroupsRequest", groups_names=("nobody.s", THERE, GROUP))},
    ApiKey.FIND_COORDINATOR: {
        **{
            f"kind {kind}": same("FindCoordinatorRequest", key_type=kind, coordinator_keys=(GROUP, THERE, "tx"))
            for kind in (0, 1)
        },
        "kind 2": same(
            "FindCoordinatorRequest", key_type=2, coordinator_keys=(f"{GROUP}:{NOBODYS}:0", "no share partition")
        ),
        "of old": same("FindCoordinatorRequest", key=GROUP),
    },
    ApiKey.INIT_PRODUCER_ID: {
        "idempotent": same("InitProducerIdRequest", transactional_id=None, transaction_timeout_ms=1),
        **_of_each_transaction("InitProducerIdRequest", transaction_timeout_ms=60_000),
        "two phases": same(
            "InitProducerIdRequest", transactional_id="tx", transaction_timeout_ms=60_000, enable2_pc=True
        ),
    },
    ApiKey.ADD_PARTITIONS_TO_TXN: {
        **{
            f"{name} of old": same(
                "AddPartitionsToTxnRequest",
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=99,
                v3_and_below_topics=tuple(_added(topic) for topic in TOPICS),
            )
            for name in TRANSACTIONS
        },
        "of brokers": same(
            "AddPartitionsToTxnRequest",
            transactions=tuple(
                add_partitions_to_txn_request.AddPartitionsToTxnTransaction(
                    transactional_id=name, producer_id=99, topics=tuple(_added(topic) for topic in TOPICS)
                )
                for name in TRANSACTIONS
            ),
        ),
    },
    ApiKey.ADD_OFFSETS_TO_TXN: {
        f"{name} {group}": same("AddOffsetsToTxnRequest", transactional_id=name, producer_id=99, group_id=group)
        for name in TRANSACTIONS
        for group in GROUPS
    },
    ApiKey.END_TXN: _of_each_transaction("EndTxnRequest", producer_id=99),
    ApiKey.TXN_OFFSET_COMMIT: {
        f"{name} {group}": _txn_committed(name, group) for name in TRANSACTIONS for group in GROUPS
    },
    ApiKey.WRITE_TXN_MARKERS: {
        "one": same(
            "WriteTxnMarkersRequest",
            markers=(
                write_txn_markers_request.WritableTxnMarker(
                    producer_id=99,
                    topics=(write_txn_markers_request.WritableTxnMarkerTopic(name=NOT_THERE, partition_indexes=(0,)),),
                ),
            ),
        )
    },
    **{key: {"one": _share_state(key)} for key in SHARE_STATES},
    ApiKey.DESCRIBE_PRODUCERS: {
        "both": same(
            "DescribeProducersRequest",
            topics=tuple(describe_producers_request.TopicRequest(name=name, partition_indexes=(0,)) for name in TOPICS),
        )
    },
    ApiKey.DESCRIBE_TRANSACTIONS: {
        "both": same("DescribeTransactionsRequest", transactional_ids=("nobody.s", *TRANSACTIONS))
    },
}
