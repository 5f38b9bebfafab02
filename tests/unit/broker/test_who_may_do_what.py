"""A broker with an authorizer: what is allowed of a request is served, nothing of the rest is done or given away."""

from __future__ import annotations

import pytest

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.parts.events import ConnectionId, ConnectionInfo
from controller_runtime.protocol.authorized_operations import NOT_ASKED, Operation
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.create_acls_response import CreateAclsResponse
from controller_runtime.protocol.messages.create_delegation_token_request import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from controller_runtime.protocol.messages.create_delegation_token_response import CreateDelegationTokenResponse
from controller_runtime.protocol.messages.describe_delegation_token_request import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from controller_runtime.protocol.messages.describe_delegation_token_response import DescribeDelegationTokenResponse
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.nodes.broker_world import BrokerWorld
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

ANYBODY = "User:ANONYMOUS"
DENY, ALLOW = 2, 3
DENIED = 29


def acl(name: str, operation: Operation, kind: int = 2, pattern: int = 3, permission: int = ALLOW) -> AclCreation:
    return AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=ANYBODY,
        host="*",
        operation=operation,
        permission_type=permission,
    )


def guarded(*acls: AclCreation, topics: tuple[str, ...] = ("mine", "theirs")) -> BrokerWorld:
    """A broker that leads these topics and holds everybody to these ACLs."""
    controller = World(security=SecurityRules(keeps_acls=True))
    world = BrokerWorld(controller=controller, security=SecurityRules(authorizer=AuthorizerRules()))
    world.start()
    for name in topics:
        controller.create(name)
    made = controller.ask(CreateAclsRequest(creations=acls), CreateAclsResponse)
    assert not any(each.error_code for each in made.results)
    world.settle()
    return world


def id_of(world: BrokerWorld, name: str) -> Uuid:
    topic = world.controller.image.topics.named(name)
    assert topic is not None
    return topic.id


def produce(world: BrokerWorld, *names: str, acks: int = 1) -> ProduceRequest:
    data = (PartitionProduceData(index=0, records=encode_batch([Record(0, 1000, None, b"one")])),)
    topics = tuple(TopicProduceData(name=name, topic_id=id_of(world, name), partition_data=data) for name in names)
    return ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=topics)


def fetch(world: BrokerWorld, *names: str, replica: int = -1, wait_ms: int = 0) -> FetchRequest:
    wanted = (FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20),)
    topics = tuple(FetchTopic(topic=name, topic_id=id_of(world, name), partitions=wanted) for name in names)
    return FetchRequest(replica_id=replica, max_wait_ms=wait_ms, min_bytes=1, topics=topics)


def codes(answer: ProduceResponse) -> dict[Uuid, int]:
    return {topic.topic_id: topic.partition_responses[0].error_code for topic in answer.responses}


def read(answer: FetchResponse) -> dict[Uuid, tuple[int, bool]]:
    """Error, and whether there are records."""
    return {
        topic.topic_id: (topic.partitions[0].error_code, bool(topic.partitions[0].records))
        for topic in answer.responses
    }


def end_of(world: BrokerWorld, name: str) -> int:
    log = world.service.partitions.led(world.service.partitions.key(name, id_of(world, name), 0))  # type: ignore[arg-type]
    assert log is not None
    return int(log.log.end_offset)


def test_of_a_batch_for_two_topics_the_one_that_is_allowed_is_written() -> None:
    """ACL-17."""
    world = guarded(acl("mine", Operation.WRITE))
    answer = world.ask(produce(world, "theirs", "mine"), ProduceResponse)
    assert codes(answer) == {id_of(world, "mine"): 0, id_of(world, "theirs"): DENIED}
    assert (end_of(world, "mine"), end_of(world, "theirs")) == (1, 0)


def test_who_wants_no_answer_loses_the_connection_as_by_kafka() -> None:
    """ACL-17: what is allowed is written all the same."""
    world = guarded(acl("mine", Operation.WRITE))
    world.send(produce(world, "theirs", "mine", acks=0))
    world.settle()
    assert world.closed == [ConnectionId(1)]
    assert (end_of(world, "mine"), end_of(world, "theirs")) == (1, 0)
    world.send(produce(world, "theirs", acks=0), connection=2)
    assert world.closed == [ConnectionId(1), ConnectionId(2)]


def test_a_fetch_reads_what_it_may_and_names_what_it_may_not() -> None:
    """ACL-18; a topic that is not there is refused like one that is, by its name."""
    world = guarded(acl("mine", Operation.READ), acl("mine", Operation.WRITE))
    world.ask(produce(world, "mine"), ProduceResponse)
    answer = world.ask(fetch(world, "theirs", "mine"), FetchResponse)
    assert read(answer) == {id_of(world, "mine"): (0, True), id_of(world, "theirs"): (DENIED, False)}
    named = FetchRequest(topics=(FetchTopic(topic="absent", partitions=(FetchPartition(),)),))
    absent = world.ask(named, FetchResponse, version=12)
    assert absent.responses[0].partitions[0].error_code == DENIED


def test_a_session_is_judged_anew_at_each_request() -> None:
    """ACL-18: what its reader may no longer read is refused, and what it never might is told each time."""
    world = guarded(acl("mine", Operation.READ), acl("mine", Operation.WRITE))
    both = replace(fetch(world, "theirs", "mine"), session_epoch=0)
    answer = world.ask(both, FetchResponse)
    assert read(answer) == {id_of(world, "mine"): (0, False), id_of(world, "theirs"): (DENIED, False)}
    again = FetchRequest(session_id=answer.session_id, session_epoch=1)
    assert read(world.ask(again, FetchResponse)) == {id_of(world, "theirs"): (DENIED, False)}
    denied = acl("mine", Operation.READ, permission=DENY)
    world.controller.ask(CreateAclsRequest(creations=(denied,)), CreateAclsResponse)
    world.settle()
    told = read(world.ask(replace(again, session_epoch=2), FetchResponse))
    assert told == {id_of(world, "mine"): (DENIED, False), id_of(world, "theirs"): (DENIED, False)}


def test_a_replica_id_opens_nothing() -> None:
    """ACL-18, ATK-03 (CVE-2018-1288): a follower needs ClusterAction, whatever he may read."""
    world = guarded(acl("mine", Operation.READ))
    wanted = (FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20),)
    old = FetchRequest(replica_id=7, min_bytes=0, topics=(FetchTopic(topic="mine", partitions=wanted),))
    answer = world.ask(old, FetchResponse, version=12)
    assert [one.partitions[0].error_code for one in answer.responses] == [DENIED]
    new = FetchRequest(
        replica_state=ReplicaState(replica_id=7),
        min_bytes=0,
        topics=(FetchTopic(topic_id=id_of(world, "mine"), partitions=wanted),),
    )
    assert read(world.ask(new, FetchResponse)) == {id_of(world, "mine"): (DENIED, False)}


def test_nothing_is_remembered_of_who_hung_up() -> None:
    world = guarded(acl("mine", Operation.READ))
    waiting = world.send(fetch(world, "theirs", "mine", wait_ms=1_000), connection=3)
    assert world.service.admission is not None
    assert world.service.admission.waiting == 1, "as by Kafka it waits for what it may read"
    world.hang_up(3)
    world.settle()
    assert world.service.admission.waiting == 0
    assert world.answers.get(waiting) is None


def test_a_topic_that_he_may_not_create_is_not_created_for_him() -> None:
    """ACL-19: to describe a topic is not to make it."""
    world = guarded(acl("new", Operation.DESCRIBE, pattern=4), acl("new.mine", Operation.CREATE), topics=())
    names = ("new.mine", "new.theirs", "unseen")
    request = MetadataRequest(topics=tuple(MetadataRequestTopic(name=name) for name in names))
    answer = world.ask(request, MetadataResponse)
    assert {topic.name: topic.error_code for topic in answer.topics} == {
        "new.mine": 3,
        "new.theirs": DENIED,
        "unseen": DENIED,
    }
    world.settle()
    assert [topic.name for topic in world.controller.image.topics] == ["new.mine"]


def test_lists_hold_only_what_he_may_describe_and_bits_say_what_he_may_do() -> None:
    """ACL-19, ACL-31."""
    world = guarded(acl("mi", Operation.READ, pattern=4), acl("mine", Operation.DELETE, permission=DENY))
    everything = MetadataRequest(topics=None, include_topic_authorized_operations=True)
    (topic,) = world.ask(everything, MetadataResponse).topics
    assert (topic.name, topic.topic_authorized_operations) == ("mine", 1 << Operation.READ | 1 << Operation.DESCRIBE)
    unasked = world.ask(MetadataRequest(topics=None), MetadataResponse)
    assert [each.topic_authorized_operations for each in unasked.topics] == [NOT_ASKED]


def test_who_may_write_to_any_topic_gets_a_producer_id() -> None:
    """ACL-23."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    assert guarded(acl("mine", Operation.READ)).ask(request, InitProducerIdResponse).error_code == 31
    assert guarded(acl("mine", Operation.WRITE)).ask(request, InitProducerIdResponse).error_code == 0
    denied = (acl("mine", Operation.WRITE), acl("m", Operation.WRITE, pattern=4, permission=DENY))
    assert guarded(*denied).ask(request, InitProducerIdResponse).error_code == 31
    cluster = acl("kafka-cluster", Operation.IDEMPOTENT_WRITE, kind=4)
    assert guarded(cluster).ask(request, InitProducerIdResponse).error_code == 0


SECRET = b"of the whole cluster"


def with_tokens(*acls: AclCreation) -> tuple[BrokerWorld, list[str]]:
    """A broker that knows tokens of ann (whom bob may renew) and of carl; their ids."""
    rules = {"token_secret": SECRET, "token_max_lifetime_ms": 10**9, "token_expiry_ms": 10**8}
    controller = World(security=SecurityRules(keeps_acls=True, **rules))  # type: ignore[arg-type]
    world = BrokerWorld(controller=controller, security=SecurityRules(authorizer=AuthorizerRules(), **rules))  # type: ignore[arg-type]
    world.start()
    ids = []
    for owner, renewer in (("ann", "bob"), ("carl", "dan")):
        renewers = (CreatableRenewers(principal_type="User", principal_name=renewer),)
        wanted = CreateDelegationTokenRequest(max_lifetime_ms=-1, renewers=renewers)
        made = controller.ask(wanted, CreateDelegationTokenResponse, principal=f"User:{owner}", forwarded=True)
        assert made.error_code == 0
        ids.append(made.token_id)
    answer = controller.ask(CreateAclsRequest(creations=acls), CreateAclsResponse)
    assert not any(each.error_code for each in answer.results)
    world.settle()
    return world, ids


def seen_by(world: BrokerWorld, who: str, *owners: str, by_token: bool = False) -> list[str] | int:
    """The ids of the tokens that somebody is told of, or why he is told of none."""
    asked = tuple(DescribeDelegationTokenOwner(principal_type="User", principal_name=each) for each in owners)
    request = DescribeDelegationTokenRequest(owners=asked or None)
    shown = who != ANYBODY
    info = ConnectionInfo(
        ConnectionId(1), "PLAINTEXT", principal=who, authenticated=shown, token_authenticated=by_token
    )
    request_id = world.send(request, info=info)
    world.settle()
    answer = world.answers[request_id]
    assert isinstance(answer, DescribeDelegationTokenResponse)
    return answer.error_code or [token.token_id for token in answer.tokens]


def test_tokens_are_shown_to_whom_they_belong_to_who_renews_them_and_who_may_see_them() -> None:
    """TOK-09: an HMAC is a password. TOK-03, TOK-04: who came with a token, or says not who he is, is told nothing."""
    see_token = replace(acl("id", Operation.DESCRIBE, kind=6), principal="User:eve")
    see_ann = replace(acl("User:ann", Operation.DESCRIBE_TOKENS, kind=7), principal="User:fred")
    world, (anns, carls) = with_tokens(see_ann)
    created = replace(see_token, resource_name=carls)
    world.controller.ask(CreateAclsRequest(creations=(created,)), CreateAclsResponse)
    world.settle()
    seen = {who: seen_by(world, f"User:{who}") for who in ("ann", "bob", "carl", "dan", "eve", "fred", "stranger")}
    assert seen == {"ann": [anns], "bob": [anns], "carl": [carls], "dan": [carls], "eve": [carls], "fred": [anns],
                    "stranger": []}  # fmt: skip
    assert seen_by(world, "User:ann", "carl") == []
    assert seen_by(world, "User:fred", "ann", "carl") == [anns]
    assert seen_by(world, "User:ann", by_token=True) == seen_by(world, ANYBODY) == 64


def test_who_asked_for_a_token_sees_it_though_it_belongs_to_another() -> None:
    """As in Apache Kafka 4.3.1 (`cluster/tools.jsonl.gz`, call 83): the requester counts among the owners."""
    may_create = replace(acl("User:ann", Operation.CREATE_TOKENS, kind=7), principal="User:eve")
    world, (anns, _) = with_tokens(may_create)
    wanted = CreateDelegationTokenRequest(
        max_lifetime_ms=-1, owner_principal_type="User", owner_principal_name="ann", renewers=()
    )
    made = world.controller.ask(wanted, CreateDelegationTokenResponse, principal="User:eve", forwarded=True)
    assert made.error_code == 0
    world.settle()
    assert seen_by(world, "User:eve") == seen_by(world, "User:ann", "eve") == [made.token_id]
    assert seen_by(world, "User:ann", "ann") == [anns, made.token_id]


def test_a_group_of_that_name_is_not_the_user() -> None:
    """ATK-17 (KIP-373): tokens are users' own."""
    world, (anns, _) = with_tokens()
    assert seen_by(world, "User:ann") == [anns]
    assert seen_by(world, "Group:ann") == []


def test_who_may_not_see_a_topic_is_answered_as_if_it_were_not_there() -> None:
    """ATK-23: the same codes, words and order for names that there are and names that there are not."""
    names = ("mine", "theirs", "nowhere")

    def told(*existing: str) -> list[Message]:
        world = guarded(acl("mine", Operation.DESCRIBE), topics=("mine", *existing))
        part = (PartitionProduceData(index=0, records=encode_batch([Record(0, 1000, None, b"one")])),)
        unseen = tuple(TopicProduceData(name=name, partition_data=part) for name in names[1:])
        offsets = tuple(
            ListOffsetsTopic(name=name, partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),))
            for name in names[1:]
        )
        asked = tuple(MetadataRequestTopic(name=name) for name in names)
        metadata = world.ask(MetadataRequest(topics=asked), MetadataResponse)
        return [
            replace(metadata, topics=tuple(topic for topic in metadata.topics if topic.name != "mine")),
            world.ask(ProduceRequest(acks=1, timeout_ms=1_000, topic_data=unseen), ProduceResponse, 12),
            world.ask(ListOffsetsRequest(replica_id=-1, topics=offsets), ListOffsetsResponse),
        ]

    assert told() == told("theirs") == told("nowhere", "theirs")
