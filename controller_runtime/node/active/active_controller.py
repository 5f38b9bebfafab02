"""The active controller: it decides on the newest image, writes, and answers when that is committed.

It is made when a leader has replayed everything that earlier leaders left, and nothing of it outlives its leadership:
uncommitted images, replies that wait, the decision under way and the requests behind it go with it. One decision may
come in pieces (`long_decision`); meanwhile heartbeats that change nothing are answered, and whatever else has to be
decided waits in line.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from controller_runtime.controller.service import ControllerService
from controller_runtime.identifiers import Instant, Offset, WallClock
from controller_runtime.node.active.log_writer import DecisionTooLarge, LogWriter, check_fits
from controller_runtime.node.active.long_decision import LongDecision
from controller_runtime.node.active.pending import MAX_PENDING, ControllerRequest, PendingReplies
from controller_runtime.node.active.request_contexts import RequestContexts
from controller_runtime.node.controller_registration import ControllerRegistrar
from controller_runtime.node.operation_counters import OperationCounters
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.faults import OURS
from controller_runtime.node.quorum.part import QuorumPart
from controller_runtime.parts import envelope as envelopes
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.failed_requests import not_controller
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.update_features_request import UpdateFeaturesRequest
from controller_runtime.raft.membership.upgrading import LATEST_KRAFT_VERSION
from controller_runtime.values import replace

MAX_WAITING_TOGETHER: Final = 256
"""Of the requests that waited for a long decision, so many are decided in one step: more than can join them in one."""


class Active:
    """One of the two things that a controller can be; `Standby` is the other."""

    def __init__(
        self,
        writer: LogWriter,
        service: ControllerService,
        quorum: QuorumPart,
        registrar: ControllerRegistrar,
        contexts: RequestContexts,
        counters: OperationCounters,
    ) -> None:
        self.writer = writer
        self._service = service
        self._quorum = quorum
        self._meta = quorum.meta
        self.led = quorum.meta.leading
        """The leadership in which this node became active: an epoch has one."""
        self._registrar = registrar
        self._contexts = contexts
        self._counters = counters
        self._pending = PendingReplies()
        self._long: LongDecision | None = None
        self._behind: deque[tuple[ControllerRequest, Instant]] = deque()
        """What came while a decision takes long, and when."""
        self._advanced = False
        """This step has done its piece."""

    @property
    def is_leading(self) -> bool:
        """This node leads its epoch still."""
        return self._meta.leading is self.led

    @property
    def _is_busy(self) -> bool:
        """A decision takes long, or some wait that came meanwhile: nothing may be decided before them."""
        return self._long is not None or bool(self._behind)

    @property
    def working_on(self) -> int | None:
        """The API of the decision that takes long; None too when it is the controller's own work."""
        long = self._long
        return None if long is None or long.asker is None else long.asker.request.KEY

    def next_deadline(self) -> Instant | None:
        if self._is_busy:
            return Instant(0.0)
        wanted = (self._service.next_deadline(), self.writer.linger_until, self._registrar.next_deadline())
        return min((at for at in wanted if at is not None), default=None)

    # Requests.

    def serve(self, call: ControllerRequest, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """Decide, or remember for later; refuse it if too many wait."""
        if self._pending.is_full or len(self._behind) >= MAX_PENDING:
            self._counters.refused(call.asker.request)
            self._service.hear(self._quorum.image, call.asker.request, now, call.connection.connection_id)
            return [not_controller(call.asker, self._quorum.leader_id)]
        if self._long is None and not self._behind:
            return self._decide(call, now, wall)
        answered: list[QuorumEffect] = []
        if not self._answered_as_settled(call, answered, now):
            self._behind.append((call, now))
        return answered

    def _answered_as_settled(self, call: ControllerRequest, out: list[QuorumEffect], now: Instant) -> bool:
        """A heartbeat that changes nothing waits for the commit only of what it could have seen."""
        if call.key != ApiKey.BROKER_HEARTBEAT:
            return False
        waiting = len(self._pending)
        try:
            # Between two pieces of a decision a heartbeat is answered as if it had come before the decision.
            image = self.writer.image if self._long is None else self._long.base
            decision = self._service.settled(image, call.asker.request, now, call.connection.connection_id)
            if decision is not None:
                self._counters.operations += 1
                answer = envelopes.respond(call.asker, decision.response)
                self._pending.add(self.writer.next_offset, call.asker, answer)
        except OURS:
            raise
        except Exception as error:
            self._pending.take_back(waiting)
            out += self._failed(call.asker, error)
            return True
        return decision is not None

    def _decide(self, call: ControllerRequest, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """What fails here fails alone: pen and replies are as they were, what consensus wrote meanwhile stays."""
        out: list[QuorumEffect] = []
        if self._answered_as_settled(call, out, now):
            return out
        self._counters.operations += 1
        waiting = len(self._pending)
        try:
            if self._service.comes_in_pieces(call.asker.request):
                self._begin_long(call, now, wall)
            else:
                self._make(call, out, now, wall)
        except OURS:
            raise
        except Exception as error:
            self._pending.take_back(waiting)
            self._long = None
            out += self._failed(call.asker, error)
        return out

    def _failed(self, asker: Asker, error: Exception) -> list[QuorumEffect]:
        if not isinstance(error, DecisionTooLarge):
            return [*self._meta.faults.fail(asker, "decided", error)]
        refused = refusal(asker.request, ErrorCode.RECORD_LIST_TOO_LARGE, str(error))
        return [envelopes.respond(asker, refused)]

    def _make(self, call: ControllerRequest, out: list[QuorumEffect], now: Instant, wall: WallClock) -> None:
        """Decide, and write: last, when the answer is known to fit and waits for its commit."""
        writer, asker = self.writer, call.asker
        self._follow_log()  # A request of the same turn may have changed the voters.
        context = self._contexts.of(call, writer.next_offset, wall)
        if isinstance(asker.request, UpdateFeaturesRequest):
            fault = self._meta.replica.upgrade_fault(LATEST_KRAFT_VERSION)
            context = replace(context, kraft_upgrade_fault=fault)
        decision = self._service.handle(writer.image, asker.request, context, now)
        answer = envelopes.respond(asker, decision.response)
        if decision.kraft_version is not None:
            self._upgrade(decision.kraft_version, out, now, wall)
        self._pending.add(Offset(writer.next_offset + len(decision.records)), asker, answer)
        if decision.records:
            writer.write(decision.records, now, wall, atomic=decision.atomic)

    def _upgrade(self, level: int, out: list[QuorumEffect], now: Instant, wall: WallClock) -> None:
        """Consensus writes its records; those of the decision get the offsets after them."""
        out += self._quorum.upgrade_kraft_version(self.writer.epoch, level, now, wall)
        self._follow_log()

    # Decisions in pieces.

    def _begin_long(self, call: ControllerRequest, now: Instant, wall: WallClock) -> None:
        """With its first piece: most have no other."""
        self._follow_log()
        base = self.writer.freeze()
        context = self._contexts.of(call, self.writer.next_offset, wall)
        self._long = LongDecision(call.asker, self._service.plan(base, call.asker.request, context, now), base)
        self._advance(self._long, now, wall)

    def _advance(self, long: LongDecision, now: Instant, wall: WallClock) -> None:
        self._advanced = True
        piece = long.advance(self.writer.next_offset)
        if piece:
            self.writer.write(piece, now, wall, atomic=False)
        if long.ready:
            self._finish_long(long, now, wall)
            self._long = None

    def _finish_long(self, long: LongDecision, now: Instant, wall: WallClock) -> None:
        """The end is written last, when the answer is known to fit and waits for its commit."""
        writer, decision = self.writer, long.decision
        if long.asker is not None:
            answer = envelopes.respond(long.asker, decision.response)
            check_fits(long.count, long.size)
            self._pending.add(Offset(writer.next_offset + len(decision.records)), long.asker, answer)
        if long.builder is not None:
            writer.write_replayed(long.written, long.count, long.base, builder=long.builder, now=now, wall=wall)
        elif decision.records:
            writer.write(decision.records, now, wall, atomic=False)

    def _go_on(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """A piece of the decision that takes long; when it is made, some of what came meanwhile."""
        out: list[QuorumEffect] = []
        if self._long is not None and self._long_goes_on(self._long, out, now, wall):
            return out
        for _ in range(MAX_WAITING_TOGETHER):
            if self._long is not None or not self._behind:
                break
            call, since = self._behind.popleft()
            self._counters.waits_s.append(now - since)
            if self._service.is_too_late(call.asker.request, now - since):
                out.append(self._timed_out(call.asker, now))
            else:
                out += self._decide(call, now, wall)
        return out

    def _timed_out(self, asker: Asker, now: Instant) -> QuorumEffect:
        """It waited too long for its decision; a heartbeat is a sign of life all the same (CLU-10)."""
        self._counters.refused(asker.request)
        self._service.hear(self._quorum.image, asker.request, now, asker.connection_id)
        return envelopes.respond(asker, refusal(asker.request, ErrorCode.REQUEST_TIMED_OUT))

    def _long_goes_on(self, long: LongDecision, out: list[QuorumEffect], now: Instant, wall: WallClock) -> bool:
        """True when it is made, or failed. What failed of the controller's own work is raised."""
        waiting = len(self._pending)
        try:
            self._advance(long, now, wall)
        except OURS:
            raise
        except Exception as error:
            if long.asker is None:
                raise
            self._pending.take_back(waiting)
            self._long = None
            out += self._failed(long.asker, error)
        return self._long is None

    # After every event.

    def work(self, out: list[QuorumEffect], now: Instant, wall: WallClock) -> None:
        """What goes on by itself, added to `out`; replies whose commit was waited for go first."""
        self._follow_log()
        if not self._advanced:
            out += self._go_on(now, wall)
        self._advanced = False
        if not self._is_busy:
            self._write_periodic(now, wall)
        out += self._write_if_due(now, wall)
        out[:0] = self._release()
        if not self._is_busy:
            out += self._register(now, wall)

    def _follow_log(self) -> None:
        """Consensus may have written control records: offsets continue after them."""
        if not self.writer.has_work and self.writer.next_offset != self._meta.end_offset:
            self.writer.skip_to(self._meta.end_offset)

    def _write_periodic(self, now: Instant, wall: WallClock) -> None:
        due = self._service.next_deadline()
        if due is None or due > now:
            return
        records = self._service.periodic(now)
        if records:
            self.writer.write(records, now, wall)
        base = self.writer.freeze()
        work = self._service.own_work(base, self.writer.next_offset, now, wall)
        if work is not None:
            self._long = LongDecision(None, work, base)
            self._advance(self._long, now, wall)

    def _write_if_due(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        if not self.writer.has_work:
            return []
        idle = self._meta.high_watermark == self._meta.end_offset
        lingered = self.writer.linger_until is not None and self.writer.linger_until <= now
        return self._quorum.flush(now, wall) if idle or lingered or self.writer.is_full else []

    def _release(self) -> list[QuorumEffect]:
        """Let go what is committed."""
        if not self.is_leading:
            return []
        self._follow_log()
        committed = self._meta.high_watermark
        if committed > self.writer.committed_offset:
            self.writer.commit(committed)
        return [each.response for each in self._pending.release(committed)]

    def _register(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """It tells itself who it is."""
        writer = self.writer
        request = self._registrar.own_request(writer.image, now)
        if request is None:
            return []
        decision = self._service.handle(writer.image, request, self._contexts.own(writer.next_offset, wall), now)
        if decision.records:
            writer.write(decision.records, now, wall)
        return self._write_if_due(now, wall)

    def take_askers(self) -> list[Asker]:
        """Leadership is lost: whoever has had no answer, in the order in which they asked."""
        late = [self._long.asker] if self._long is not None and self._long.asker is not None else []
        late += [call.asker for call, _ in self._behind]
        self._long = None
        self._behind.clear()
        return [*(reply.asker for reply in self._pending.take_all()), *late]
