"""What a leader sends is looked at before consensus hears of it.

Records that are none are counted and left out by the wire already (`raft_fetch_rpc`); here they become a line for
people. A snapshot replaces the whole log, so its bytes are verified as they come: bytes that are none reach consensus
as an error. Callers may not assume that what passes can be replayed.
"""

from __future__ import annotations

from controller_runtime.node.quorum import effects as shell
from controller_runtime.node.quorum import raft_fetch_rpc
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.raft_meter import RaftMeter
from controller_runtime.node.quorum.snapshot_content import ArrivingSnapshot
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages
from controller_runtime.raft.messages import RaftError
from controller_runtime.values import replace


class SentByLeader:
    def __init__(self, meter: RaftMeter) -> None:
        self._meter = meter
        self._arriving: ArrivingSnapshot | None = None

    def checked(
        self, asked: messages.Request, answer: messages.Response, body: Message, out: list[QuorumEffect]
    ) -> messages.Response:
        """The answer that consensus may hear; what people should know of it is added to `out`."""
        if isinstance(asked, messages.FetchRequest) and isinstance(answer, messages.FetchResponse):
            self._count(asked, answer, body, out)
        if isinstance(asked, messages.FetchSnapshotRequest) and isinstance(answer, messages.FetchSnapshotResponse):
            return self._snapshot(asked, answer, out)
        return answer

    def _count(
        self, asked: messages.FetchRequest, answer: messages.FetchResponse, body: Message, out: list[QuorumEffect]
    ) -> None:
        """Count what a leader sends and nobody will append."""
        if answer.batches:
            self._meter.answered(asked, answer)
        if isinstance(body, FetchResponse) and (fault := raft_fetch_rpc.fault_of_records(body, answer.batches)):
            self._meter.bad_answer("Fetch", "corrupt batch")
            out.append(shell.Log("error", f"leader {answer.leader_id} sends records that cannot be read: {fault}"))

    def _snapshot(
        self, asked: messages.FetchSnapshotRequest, answer: messages.FetchSnapshotResponse, out: list[QuorumEffect]
    ) -> messages.FetchSnapshotResponse:
        """Consensus gives up its log for a snapshot: bytes that are none are an error before it hears of them."""
        if answer.error is not RaftError.NONE or answer.snapshot_id != asked.snapshot_id:
            return answer
        if asked.position == 0:
            self._arriving = ArrivingSnapshot(asked.snapshot_id)
        if self._arriving is None or not self._arriving.position == asked.position == answer.position:
            return answer
        try:
            self._arriving.take(answer.data)
            if self._arriving.position >= answer.size:
                self._arriving.finish()
        except ProtocolError as error:
            self._meter.bad_answer("FetchSnapshot", "corrupt snapshot")
            out.append(shell.Log("error", f"leader {answer.leader_id} sends a damaged snapshot: {error}"))
            return replace(answer, error=RaftError.UNKNOWN_SERVER_ERROR, data=b"")
        return answer
