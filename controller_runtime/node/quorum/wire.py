"""What consensus says and hears, between its own values and Kafka's messages."""

from __future__ import annotations

from typing import Final

from controller_runtime.node.quorum import raft_fetch_rpc, raft_rpc, voter_rpc
from controller_runtime.node.quorum.raft_rpc import Border
from controller_runtime.parts.api_table import Where, answered_at
from controller_runtime.parts.events import CallFailure, RequestReceived
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from controller_runtime.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages
from controller_runtime.raft.events import Failure

RAFT_KEYS: Final = answered_at(Where.CONSENSUS, Where.VOTER_SET)
"""The requests that consensus answers."""


VOTER_KEYS: Final = answered_at(Where.VOTER_SET)
"""Those that may make the leader write."""

FAILURES: Final = {
    CallFailure.REFUSED: Failure.REFUSED,
    CallFailure.DISCONNECTED: Failure.DISCONNECTED,
    CallFailure.TIMED_OUT: Failure.TIMED_OUT,
    CallFailure.UNSUPPORTED_VERSION: Failure.UNSUPPORTED,
    CallFailure.MALFORMED: Failure.INVALID,
    CallFailure.UNAUTHENTICATED: Failure.TIMED_OUT,  # as in Kafka it may pass, and nobody is gone
}


def request_from_wire(event: RequestReceived, border: Border) -> messages.Request | Message:
    """A request of a peer, or the message that refuses it at once."""
    match event.body:
        case FetchRequest() as fetch:
            return raft_fetch_rpc.fetch_from_wire(fetch, event.api_version, border)
        case FetchSnapshotRequest() as fetch_snapshot:
            return raft_fetch_rpc.snapshot_from_wire(fetch_snapshot, border)
        case AddRaftVoterRequest() | RemoveRaftVoterRequest() as change:
            return voter_rpc.request_from_wire(change, border)
        case body:
            return raft_rpc.request_from_wire(body, event.api_version, border)


def response_from_wire(asked: messages.Request, body: Message) -> messages.Response:
    match body:
        case FetchResponse():
            return raft_fetch_rpc.fetch_response_from_wire(body)
        case FetchSnapshotResponse() if isinstance(asked, messages.FetchSnapshotRequest):
            return raft_fetch_rpc.snapshot_response_from_wire(body, asked)
        case AddRaftVoterResponse() | RemoveRaftVoterResponse() | ApiVersionsResponse():
            return voter_rpc.response_from_wire(body)
        case _:
            return raft_rpc.response_from_wire(body)


def request_to_wire(request: messages.Request, border: Border, timeout_ms: int) -> Message:
    match request:
        case messages.FetchRequest() as fetch:
            return raft_fetch_rpc.fetch_to_wire(fetch, border)
        case messages.FetchSnapshotRequest() as snapshot:
            return raft_fetch_rpc.snapshot_to_wire(snapshot, border)
        case messages.AddVoterRequest() | messages.RemoveVoterRequest() | messages.ApiVersionsRequest() as change:
            return voter_rpc.request_to_wire(change, border, timeout_ms)
        case _:
            return raft_rpc.request_to_wire(request, border)


def response_to_wire(response: messages.Response, version: int, border: Border) -> Message:
    """Without records: see `raft_fetch_rpc`."""
    match response:
        case messages.FetchResponse():
            return raft_fetch_rpc.fetch_response_to_wire(response, version, border)
        case messages.FetchSnapshotResponse():
            return raft_fetch_rpc.snapshot_response_to_wire(response, version, border)
        case messages.AddVoterResponse() | messages.RemoveVoterResponse():
            return voter_rpc.response_to_wire(response)
        case messages.ApiVersionsResponse():
            raise AssertionError("consensus asks for versions, it does not tell them")
        case _:
            return raft_rpc.response_to_wire(response, version, border)
