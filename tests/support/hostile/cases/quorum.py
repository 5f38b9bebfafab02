"""Lies to a controller: envelopes, epochs, voters, and nodes that register as nobody should."""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.messages import add_raft_voter_request as add_q
from controller_runtime.protocol.messages import broker_registration_request as broker_q
from controller_runtime.protocol.messages import controller_registration_request as controller_q
from controller_runtime.protocol.messages import update_raft_voter_request as update_q
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.fuzz.tree import Group
from support.hostile.case import CONTROLLER, Ask, Case, by_hand, framed, head, lied, right
from support.hostile.cases.topics import copies, creating, same_tag_twice
from support.nodes import strangers
from support.nodes.processes import CLUSTER_ID

REFUSED: Final = ("refused",)
ANY: Final = ("closed", "answered")
LAST: Final = 2**31 - 1
STRANGER: Final = Uuid.of(0x77, 0x77)
PRINCIPAL: Final = b"\0\0" + encode(DefaultPrincipalData(type="User", name="ANONYMOUS"), 0)
NOBODY: Final = 4711


def envelope(inside: bytes, principal: bytes | None = PRINCIPAL, address: bytes = b"\x7f\0\0\1") -> Ask:
    return right(EnvelopeRequest(request_data=inside, request_principal=principal, client_host_address=address), 0)


def inner(ask: Ask) -> bytes:
    return ask.sent[4:]


def nested(depth: int) -> Ask:
    made = envelope(head(18, 0))
    for _ in range(depth):
        made = envelope(inner(made))
    return made


def broker(
    node: int = NOBODY, *, cluster: str = CLUSTER_ID, listeners: int = 1, features: int = 1, logs: int = 1
) -> broker_q.BrokerRegistrationRequest:
    at = tuple(
        broker_q.Listener(name=f"L{number}" if number else "PLAINTEXT", host="127.0.0.1", port=1)
        for number in range(listeners)
    )
    rows = (broker_q.Feature(name="metadata.version", min_supported_version=7, max_supported_version=29),) * features
    return broker_q.BrokerRegistrationRequest(
        broker_id=node, cluster_id=cluster, incarnation_id=Uuid.of(node & 0xFFFF, 1), listeners=at, features=rows,
        rack=None, log_dirs=(Uuid.of(5, 5 << 40),) * logs,
    )  # fmt: skip


def beat(node: int, epoch: int) -> Ask:
    return right(
        BrokerHeartbeatRequest(broker_id=node, broker_epoch=epoch, current_metadata_offset=2**62, want_shut_down=True),
        1,
    )


def adding(node: int, *hosts: str, directory: Uuid = STRANGER) -> Ask:
    at = tuple(
        add_q.Listener(name="CONTROLLER" if number == 0 else f"L{number}", host=host, port=9)
        for number, host in enumerate(hosts)
    )
    return right(
        add_q.AddRaftVoterRequest(
            cluster_id=None, voter_id=node, voter_directory_id=directory, listeners=at, timeout_ms=1000
        ),
        1,
    )


def updating(node: int, epoch: int) -> Ask:
    at = (update_q.Listener(name="CONTROLLER", host="127.0.0.1", port=9),)
    return right(
        update_q.UpdateRaftVoterRequest(
            cluster_id=None, current_leader_epoch=epoch, voter_id=node, voter_directory_id=STRANGER, listeners=at
        ),
        0,
    )


def twice_the_partition(tree: Group) -> None:
    copies(2)(tree)


def cases() -> list[Case]:
    vote = strangers.vote(LAST, 9, STRANGER, (2**40, LAST))
    other = "other-other-other-othe"
    registered = broker()
    return [
        Case("an envelope of noise", CONTROLLER, envelope(b"\xa5" * 40), REFUSED),
        Case("an envelope of nothing", CONTROLLER, envelope(b""), REFUSED),
        Case("an envelope of 7 bytes", CONTROLLER, envelope(b"\0\x13\0\7\0\0\0"), REFUSED),
        Case("an envelope in an envelope", CONTROLLER, nested(1), REFUSED),
        Case("fifty envelopes in each other", CONTROLLER, nested(50), REFUSED),
        Case("an envelope with what is not forwarded", CONTROLLER, envelope(head(18, 0)), REFUSED),
        Case("an envelope with version 99 of something", CONTROLLER, envelope(b"\0\x13\0\x63\0\0\0\7\xff\xff\0"),
            REFUSED),
        Case("an envelope from a principal of noise", CONTROLLER, envelope(inner(creating("x")), b"\xff" * 9),
            ("PRINCIPAL_DESERIALIZATION_FAILURE",)),
        Case("an envelope from nobody", CONTROLLER, envelope(inner(creating("x")), None), REFUSED),
        Case("an envelope from an address of 3 bytes", CONTROLLER, envelope(inner(creating("x")), address=b"\1\2\3"),
            REFUSED),
        Case("an envelope with a topic's name of 32,767 bytes, v4", CONTROLLER,
            envelope(inner(creating("y" * 32767, version=4))), ANY),
        Case("an envelope with the same tag twice", CONTROLLER,
            envelope(inner(lied(UnregisterBrokerRequest(broker_id=NOBODY), 0, same_tag_twice))), ANY),
        Case("a vote in epoch 2^31-1", CONTROLLER, right(vote, 2), REFUSED),
        Case("a pre-vote in epoch 2^31-1", CONTROLLER,
            right(strangers.vote(LAST, 9, STRANGER, (2**40, LAST - 1), pre=True), 2), ANY),
        Case("a vote in epoch -1", CONTROLLER, right(strangers.vote(-1, 9, STRANGER, (0, 0)), 2), REFUSED),
        Case("a vote for a log that ends at -5", CONTROLLER, right(strangers.vote(1, 9, STRANGER, (-5, -5)), 2),
            REFUSED),
        Case("a vote with every topic twice", CONTROLLER, lied(vote, 2, twice_the_partition), REFUSED),
        Case("a leader of epoch 2^31-1", CONTROLLER, right(strangers.begin(LAST, 9), 1), REFUSED),
        Case("a leader that is nobody", CONTROLLER, right(strangers.begin(1, -1), 1), REFUSED),
        Case("the end of epoch 2^31-1", CONTROLLER, right(strangers.end(LAST, 9), 1), REFUSED),
        Case("a vote in another cluster", CONTROLLER, right(strangers.vote(3, 2, STRANGER, (0, 0), cluster=other), 2),
            ("INCONSISTENT_CLUSTER_ID",)),
        Case("a fetch of the log at 2^62", CONTROLLER,
            right(strangers.fetch(1, 2**62, 1, node=9, directory=STRANGER), 17), ANY),
        Case("a fetch of the log at -3", CONTROLLER, right(strangers.fetch(1, -3, 0), 17), REFUSED),
        Case("a fetch of the log in epoch 2^31-1", CONTROLLER, right(strangers.fetch(LAST, 1, 1), 17), REFUSED),
        Case("a snapshot that is nowhere", CONTROLLER, right(strangers.fetch_snapshot(1, (2**62, LAST)), 1), REFUSED),
        Case("a snapshot from byte -1 on", CONTROLLER, right(strangers.fetch_snapshot(1, (0, 0), -1), 1), REFUSED),
        Case("a voter without listeners", CONTROLLER, adding(NOBODY), ("INVALID_REQUEST",)),
        Case("a voter without a directory", CONTROLLER, adding(NOBODY, "127.0.0.1", directory=Uuid(bytes(16))),
            ("INVALID_REQUEST", "REQUEST_TIMED_OUT")),
        Case("a voter at a host that cannot be", CONTROLLER, adding(NOBODY, "y" * 300), REFUSED),
        Case("a voter at ten thousand listeners", CONTROLLER, adding(NOBODY, *["127.0.0.1"] * 10_000), REFUSED),
        Case("the removal of a voter that is none", CONTROLLER,
            right(RemoveRaftVoterRequest(cluster_id=None, voter_id=NOBODY, voter_directory_id=STRANGER), 0), REFUSED),
        Case("an update of a voter that is none", CONTROLLER, updating(NOBODY, 1), REFUSED),
        Case("an update in epoch 2^31-1", CONTROLLER, updating(1, LAST), REFUSED),
        Case("broker -1", CONTROLLER, right(broker(-1), 2), REFUSED),
        Case("a broker of another cluster", CONTROLLER, right(broker(cluster=other), 2), ("INCONSISTENT_CLUSTER_ID",)),
        Case("a second broker of an id that lives", CONTROLLER, right(broker(1), 2),
            ("DUPLICATE_BROKER_REGISTRATION",)),
        Case("a broker without listeners", CONTROLLER, right(broker(listeners=0), 2), ANY),
        Case("a broker with 10,000 listeners", CONTROLLER, right(broker(listeners=10_000), 2), ANY),
        Case("a broker with 10,000 features of one name", CONTROLLER, right(broker(features=10_000), 2), ANY),
        Case("a broker with the same directory 10,000 times", CONTROLLER, right(broker(logs=10_000), 2), ANY),
        Case("a registration that is cut", CONTROLLER, by_hand(62, 2, inner(right(registered, 2))[20:-30]),
            ("closed",)),
        Case("a heartbeat of a broker that is none", CONTROLLER, beat(4799, 1),
            ("BROKER_ID_NOT_REGISTERED", "STALE_BROKER_EPOCH")),
        Case("a heartbeat in epoch 2^62", CONTROLLER, beat(1, 2**62), ("STALE_BROKER_EPOCH",)),
        Case("a heartbeat in epoch -1", CONTROLLER, beat(1, -1), ("STALE_BROKER_EPOCH",)),
        Case("producer ids for a broker that is none", CONTROLLER,
            right(AllocateProducerIdsRequest(broker_id=4799, broker_epoch=1), 0), REFUSED),
        Case("directories of a broker that is none", CONTROLLER,
            right(AssignReplicasToDirsRequest(broker_id=4799, broker_epoch=1), 0), REFUSED),
        Case("controller -1", CONTROLLER, right(controller_q.ControllerRegistrationRequest(controller_id=-1), 0), ANY),
        Case("unregistering a broker that is none", CONTROLLER, right(UnregisterBrokerRequest(broker_id=4799), 0),
            ("BROKER_ID_NOT_REGISTERED",)),
        Case("a frame of 4 MiB that is one string", CONTROLLER,
            Ask(framed(head(62, 2) + bytes(4) + b"\x80\x80\x80\2" + b"x" * (4 << 20))), ("closed",)),
    ]  # fmt: skip
