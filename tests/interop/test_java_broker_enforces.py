"""What our controllers keep, an unmodified Apache Kafka broker enforces: ACLs, quotas of mutations, credentials.

The broker forwards in its clients' names, and reads the log of ours; nobody asks a controller directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from controller_runtime.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from support.apache_kafka.differential import Side
from support.apache_kafka.java_kafka import JavaNode
from support.clients.client_requests import produce
from support.nodes.processes import CLUSTER_ID, Cluster, eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

JAVA = 11
BROKER = ListenerType.BROKER
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:nobody",
    "allow.everyone.if.no.acl.found": "true",
}
TOPIC, LITERAL, WRITE, DENY = 2, 3, 4, 2


@pytest.fixture
def broker(java: str, tmp_path: Path) -> Iterator[Side]:
    assert java
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        cluster.nodes[1].properties["quorate.acls"] = "kept"
        cluster.format()
        cluster.nodes[1].start()
        cluster.wait_for_leader(seconds=180.0)
        node = cluster.nodes[JAVA]
        node.properties.update(AUTHORIZER)  # after the format, by a tool of ours that refuses it
        node.write_properties()
        running = JavaNode(node.properties_file, node.directory / "java.log")
        side = Side("java", {BROKER: node.port}, CLUSTER_ID)
        try:
            running.wait_for_log("Transition from STARTING to STARTED", 180)
            yield side
        finally:
            side.close()
            running.kill()


def _written(side: Side, topic: str) -> int:
    answer = side.call(BROKER, produce(topic, b"x"), 9)
    return int(answer.responses[0].partition_responses[0].error_code)


def _limit(key: str, value: float) -> AlterClientQuotasRequest:
    entity = EntityData(entity_type="client-id", entity_name="spender")
    return AlterClientQuotasRequest(entries=(EntryData(entity=(entity,), ops=(OpData(key=key, value=value),)),))


def _create(side: Side, *names: str, client_id: str) -> list[int]:
    topics = tuple(CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in names)
    request = CreateTopicsRequest(topics=topics, timeout_ms=30_000)
    side.close()  # Kafka mutes who has to wait
    answer = side.ask(BROKER, encode_request(request, 7, 7, client_id, with_length=False))
    assert isinstance(answer, bytes), answer
    body = decode_response(answer, 19, 7).body
    return [each.error_code for each in body.topics]  # type: ignore[attr-defined]


@pytest.mark.timeout(600)
def test_a_java_broker_enforces_what_our_controllers_keep(broker: Side) -> None:
    """CFG-06, REP-04 and CFG-07 across both kinds of nodes."""
    assert _create(broker, "open", "closed", client_id="maker") == [0, 0]
    eventually("both are led", lambda: _written(broker, "open") == _written(broker, "closed") == 0, 60)

    denied = AclCreation(
        resource_type=TOPIC,
        resource_name="closed",
        resource_pattern_type=LITERAL,
        principal="User:ANONYMOUS",
        host="*",
        operation=WRITE,
        permission_type=DENY,
    )
    made = broker.call(BROKER, CreateAclsRequest(creations=(denied, denied)), 3)
    assert [each.error_code for each in made.results] == [0, 0]
    eventually("writing is denied", lambda: _written(broker, "closed") == 29, 60)
    assert _written(broker, "open") == 0
    found = DeleteAclsFilter(
        resource_type_filter=TOPIC,
        resource_name_filter="closed",
        pattern_type_filter=2,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    gone = broker.call(BROKER, DeleteAclsRequest(filters=(found,)), 3)
    assert [len(each.matching_acls) for each in gone.filter_results] == [1]
    eventually("writing is allowed again", lambda: _written(broker, "closed") == 0, 60)

    set_now = broker.call(BROKER, _limit("controller_mutation_rate", 0.001), 1)
    assert [each.error_code for each in set_now.entries] == [0]
    assert _create(broker, "last", client_id="spender") == [0]
    assert _create(broker, "too-many", client_id="spender") == [89]
    assert _create(broker, "of-another", client_id="maker") == [0]

    secret = ScramCredentialUpsertion(name="ann", mechanism=2, iterations=4096, salt=b"salt", salted_password=b"p")
    kept = broker.call(BROKER, AlterUserScramCredentialsRequest(upsertions=(secret,)), 0)
    assert [(each.user, each.error_code) for each in kept.results] == [("ann", 0)]

    def credentials() -> list[tuple[int, int]]:
        told = broker.call(BROKER, DescribeUserScramCredentialsRequest(users=None), 0)
        return [(one.mechanism, one.iterations) for each in told.results for one in each.credential_infos]

    eventually("the broker knows ann's", lambda: credentials() == [(2, 4096)], 60)
