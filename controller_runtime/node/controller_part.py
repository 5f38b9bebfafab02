"""The controller's part of a node: requests at controller listeners, and what the active controller does.

It is `Active` while this node leads and everything that earlier leaders left has been replayed, and `Standby`
otherwise. A decision is replayed on the newest image, written, and its reply waits for the commit; losing leadership
drops what is uncommitted and sends the askers on.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Final, cast

from controller_runtime.answers.api_versions import api_versions
from controller_runtime.answers.loggers import answer_about_loggers, levels_asked
from controller_runtime.answers.sasl_requests import SASL_REQUESTS, out_of_turn
from controller_runtime.controller.service import (
    SERVED_BY_ACTIVE,
    SERVED_BY_ANY,
    ControllerConfig,
    ControllerService,
)
from controller_runtime.identifiers import Epoch, Instant, NodeId, WallClock
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.metadata.configs import BROKER_LOGGER
from controller_runtime.node.active.active_controller import Active
from controller_runtime.node.active.log_writer import LINGER_S, LogWriter
from controller_runtime.node.active.pending import ControllerRequest
from controller_runtime.node.active.request_contexts import RequestContexts
from controller_runtime.node.controller_registration import ControllerIdentity, ControllerRegistrar
from controller_runtime.node.operation_counters import OperationCounters
from controller_runtime.node.quorum.describe_quorum import describe_quorum
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.faults import OURS
from controller_runtime.node.quorum.part import QuorumPart
from controller_runtime.node.quorum.wire import RAFT_KEYS, VOTER_KEYS
from controller_runtime.node.standby import Standby
from controller_runtime.parts import envelope as envelopes
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.chance import Chance
from controller_runtime.parts.effects import CloseConnection, Log, Respond, SetLogLevels
from controller_runtime.parts.events import CallFailed, CallId, HeartbeatsCutOff, RequestReceived, ResponseReceived
from controller_runtime.parts.failed_requests import not_controller, place_of
from controller_runtime.parts.long_answers import LongAnswers
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, replace

if TYPE_CHECKING:
    from controller_runtime.metadata.authorizer import AuthorizerRules
    from controller_runtime.node.controller_admission import ControllerAdmission, Serve
    from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
    from controller_runtime.protocol.messages.describe_configs_request import DescribeConfigsRequest
    from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
    from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
    from controller_runtime.protocol.messages.request_header import RequestHeader

_TYPE: Final = attrgetter("resource_type")


@dataclass(frozen=True, slots=True)
class ControllerPartConfig:
    """What a node with the controller role is configured with, beyond what every node is."""

    decisions: ControllerConfig
    identity: ControllerIdentity
    append_linger_s: float = LINGER_S


_Whole = Callable[[RequestReceived, Instant, WallClock], list[QuorumEffect]]
_Read = Callable[[ControllerRequest, Instant, WallClock], QuorumEffect]


class ControllerPart:
    """Implements `part.Part`."""

    NAME: ClassVar = "controller"
    HEARS: ClassVar[frozenset[type]] = frozenset({HeartbeatsCutOff})
    """Beside requests and answers to its calls."""

    has_left: ClassVar = True
    """Leaving is leaving the quorum."""

    def __init__(
        self, config: ControllerPartConfig, quorum: QuorumPart, chance: Chance, calls: CallIds, max_batch_bytes: int
    ) -> None:
        """`max_batch_bytes`: what a follower takes at once."""
        self.config = config
        self.counters = OperationCounters()
        self._quorum = quorum
        self._max_batch_bytes = max_batch_bytes
        self._service = ControllerService(config.decisions, chance)
        self._registrar = ControllerRegistrar(config.identity, calls)
        self._contexts = RequestContexts(quorum)
        self._role: Standby | Active = self._standby()
        self._whole: Final[dict[int, _Whole]] = {
            ApiKey.API_VERSIONS: self._api_versions,
            ApiKey.ENVELOPE: self._on_envelope,
            **dict.fromkeys(SASL_REQUESTS, _out_of_turn),
        }
        """What is never inside an Envelope."""
        self._reads: Final[dict[int, _Read]] = {
            ApiKey.DESCRIBE_QUORUM: self._describe_quorum,
            **dict.fromkeys(SERVED_BY_ANY, self._from_image),
        }
        decisions = config.decisions
        self._long: LongAnswers[QuorumEffect] = LongAnswers(quorum.meta.faults, OURS)
        authorizer = decisions.security.authorizer
        self.admission = None if authorizer is None else _admission(authorizer, quorum, self._long)
        """Without an authorizer nobody is asked."""
        self._own = OwnConfigs(decisions.node_id, decisions.node_configs, decisions.rules)

    # What others may know.

    @property
    def is_active(self) -> bool:
        return isinstance(self._role, Active)

    def silences(self, now: Instant) -> dict[NodeId, float]:
        """Seconds since each broker's last heartbeat, if this controller is active."""
        return self._service.silences(now)

    @property
    def handled(self) -> frozenset[int]:
        """The keys that are answered here, and neither by consensus nor by the active controller (a test compares them
        with the table).
        """
        return frozenset(self._whole) | frozenset(self._reads)

    @property
    def working_on(self) -> int | None:
        """The API of the decision that takes long."""
        return self._role.working_on if isinstance(self._role, Active) else None

    # Driving it.

    def on_event(self, event: object, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        match event:
            case RequestReceived():
                role = self._role
                if isinstance(role, Active) and role.led is not self._quorum.meta.leading:
                    return self._if_deposed() + self._on_request(event, now, wall)
                return self._on_request(event, now, wall)
            case ResponseReceived(call_id, _, body):
                return self._on_registered(call_id, body, now)
            case CallFailed(call_id):
                self._registrar.on_failure(call_id, now)
                return []
            case HeartbeatsCutOff(connection_id):
                self._service.cut_off(connection_id, now)
                return []
            case _:
                return []

    def poll(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        out: list[QuorumEffect] = []
        try:
            self._work(out, now, wall)
        except OURS:
            raise
        except Exception as error:
            if not isinstance(self._role, Active):
                raise
            out += self._give_up_leading(self._role, error, now, wall)
        return out

    def next_deadline(self) -> Instant | None:
        return Instant(0.0) if len(self._long) else self._role.next_deadline()  # another turn

    def _on_registered(self, call_id: CallId, body: Message, now: Instant) -> list[QuorumEffect]:
        try:
            self._registrar.on_response(call_id, body, now)
        except Exception as error:
            self._registrar.on_failure(call_id, now)
            return [self._quorum.meta.faults.count(body.KEY, "answered by a peer", error)]
        return []

    # Requests.

    def _on_request(self, event: RequestReceived, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        try:
            if event.api_key in RAFT_KEYS:
                return self._on_raft(event, now, wall)
            return self._whole.get(event.api_key, self._on_call)(event, now, wall)
        except OURS:
            raise
        except Exception as error:
            asker = Asker(event.request_id, event.body, None, event.connection.connection_id)
            return [*self._quorum.meta.faults.fail(asker, "decided", error)]

    def _on_raft(self, event: RequestReceived, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        if self.admission is None:
            return self._quorum.request(event, now, wall)
        return self.admission.admit_at_once(_call_of(event), lambda: self._quorum.request(event, now, wall), now)

    def _api_versions(self, event: RequestReceived, _now: Instant, _wall: WallClock) -> list[QuorumEffect]:
        quorum = self._quorum
        answer = api_versions(
            cast("ApiVersionsRequest", event.body),
            event.api_version,
            ListenerType.CONTROLLER,
            image=quorum.image,
            kraft_version=quorum.meta.replica.voter_history.kraft_version,
            end_offset=quorum.image_offset,
        )
        return [Respond(event.request_id, answer)]

    def _on_call(self, event: RequestReceived, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return self._admit(_call_of(event), now, wall)

    def _on_envelope(self, event: RequestReceived, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return self._admit_at_once(_call_of(event), lambda: self._unwrap(event, now, wall), now)

    def _admit(self, call: ControllerRequest, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        if self.admission is None:
            return self._serve(call, now, wall)
        return self.admission.admit(call, self._serve_while(self._role), now, wall)

    def _admit_at_once(
        self, call: ControllerRequest, serve: Callable[[], list[QuorumEffect]], now: Instant
    ) -> list[QuorumEffect]:
        return serve() if self.admission is None else self.admission.admit_at_once(call, serve, now)

    def _unwrap(self, event: RequestReceived, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        found = envelopes.unwrap(cast("EnvelopeRequest", event.body))
        if not isinstance(found, envelopes.Unwrapped):
            return [Respond(event.request_id, found)]
        header = found.request.header
        asker = Asker(event.request_id, found.request.body, header, event.connection.connection_id)
        key, version = header.request_api_key, header.request_api_version
        call = ControllerRequest(
            asker,
            event.connection,
            key,
            version,
            principal=found.principal,
            token_authenticated=found.token_authenticated,
            client_id=header.client_id,
            address=found.address,
        )
        if key in VOTER_KEYS:
            forwarded = replace(event, api_key=key, api_version=version, body=found.request.body)
            return self._admit_at_once(call, lambda: self._change_voters(forwarded, header, now, wall), now)
        return self._admit(call, now, wall)

    def _change_voters(
        self, forwarded: RequestReceived, header: RequestHeader, now: Instant, wall: WallClock
    ) -> list[QuorumEffect]:
        if not self._quorum.meta.replica.is_leader:
            return [Respond(forwarded.request_id, envelopes.not_controller())]
        return self._quorum.request(forwarded, now, wall, header)

    def _serve_while(self, role: Standby | Active) -> Serve:
        """What was judged in several steps, and by whom this node was when it began: one that leads since knew less
        then than what was acknowledged before it led.
        """

        def serve(call: ControllerRequest, now: Instant, wall: WallClock) -> list[QuorumEffect]:
            if call.key in SERVED_BY_ACTIVE and self._role is not role:
                return [not_controller(call.asker, self._quorum.leader_id)]
            return self._serve(call, now, wall)

        return serve

    def _serve(self, call: ControllerRequest, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        if call.key == ApiKey.DESCRIBE_CONFIGS:
            return self._describe_configs(call, now, wall)
        reads = self._reads.get(call.key)
        if reads is not None:
            try:
                return [reads(call, now, wall)]
            except OURS:
                raise
            except Exception as error:
                return [*self._quorum.meta.faults.fail(call.asker, "decided", error)]
        if call.key not in SERVED_BY_ACTIVE:
            return [CloseConnection(call.connection.connection_id)]
        request = call.asker.request
        if isinstance(request, IncrementalAlterConfigsRequest) and BROKER_LOGGER in map(_TYPE, request.resources):
            return self._on_loggers(call, request, now, wall)
        return self._role.serve(call, now, wall)

    def _on_loggers(
        self, call: ControllerRequest, request: IncrementalAlterConfigsRequest, now: Instant, wall: WallClock
    ) -> list[QuorumEffect]:
        """Levels of loggers are this very node's, whether it leads or not; the rest is decided."""
        asker, levels = call.asker, levels_asked(request, self._own)
        changed: list[QuorumEffect] = [SetLogLevels(tuple(levels.items()))] if levels else []
        answer = answer_about_loggers(request, self._own)
        if answer is None:
            return changed + self._role.serve(call, now, wall)
        return [*changed, envelopes.respond(asker, answer)]

    def _describe_configs(self, call: ControllerRequest, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        asker, request = call.asker, cast("DescribeConfigsRequest", call.asker.request)
        work = self._service.describe_configs(self._quorum.image, request)
        return self._long.first(asker, work, lambda answer, *_: [envelopes.respond(asker, answer)], now, wall)

    def _describe_quorum(self, call: ControllerRequest, now: Instant, wall: WallClock) -> QuorumEffect:
        asker, replica = call.asker, self._quorum.meta.replica
        seen = replica.describe(now)
        if seen is None and asker.envelope is not None:
            return Respond(asker.request_id, envelopes.not_controller())
        request = cast("DescribeQuorumRequest", asker.request)
        answer = describe_quorum(request, seen, replica.voters, now=now, wall=wall, version=call.version)
        return envelopes.respond(asker, answer)

    def _from_image(self, call: ControllerRequest, now: Instant, wall: WallClock) -> QuorumEffect:
        asker, quorum = call.asker, self._quorum
        context = self._contexts.of(call, quorum.image_offset, wall)
        answer = self._service.handle(quorum.image, asker.request, context, now).response
        return envelopes.respond(asker, answer)

    # Standby or active.

    def _standby(self) -> Standby:
        return Standby(self._quorum, self._registrar)

    def _work(self, out: list[QuorumEffect], now: Instant, wall: WallClock) -> None:
        out += self._if_deposed()
        if isinstance(self._role, Standby) and (epoch := self._quorum.epoch_to_write()) is not None:
            out += self._activate(epoch, now, wall)
        if self._long.has_begun:
            out += self._long.end_step(now, wall)
        self._role.work(out, now, wall)
        out += self._if_deposed()  # Writing may be what makes it notice that it leads no more.

    def _give_up_leading(self, active: Active, error: Exception, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """The work of the active controller failed, for nobody's request: another one may do better. Nothing
        uncommitted stays.
        """
        epoch = active.writer.epoch
        said = Log("error", f"giving up epoch {epoch}, the active controller's own work failed: {place_of(error)}")
        return [said, *self._quorum.meta.resign(epoch, now, wall), *self._if_deposed()]

    def _activate(self, epoch: Epoch, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        quorum = self._quorum
        image, position, timestamp, size = quorum.committed()
        writer = LogWriter(
            epoch,
            image,
            end_offset=position,
            timestamp=timestamp,
            replayed_bytes=size,
            linger_s=self.config.append_linger_s,
            elections=quorum.elections,
            max_batch_bytes=self._max_batch_bytes,
        )
        writer.skip_to(quorum.meta.end_offset)
        quorum.begin_writing(writer)
        self._role = Active(
            writer, self._service, quorum, registrar=self._registrar, contexts=self._contexts, counters=self.counters
        )
        records = self._service.activate(image, now)
        if records:
            writer.write(records, now, wall)
        return [Log("info", f"active controller of epoch {epoch} from offset {position}")]

    def _if_deposed(self) -> list[QuorumEffect]:
        """Leadership is lost: nothing of it outlives it, and whoever waits looks for the new leader."""
        role = self._role
        return [] if not isinstance(role, Active) or role.is_leading else self._step_down(role)

    def _step_down(self, active: Active) -> list[QuorumEffect]:
        self._role = self._standby()
        self._quorum.end_writing()
        self._service.deactivate()
        refused = [not_controller(asker, self._quorum.leader_id) for asker in active.take_askers()]
        return [*refused, Log("info", f"no longer the active controller of epoch {active.writer.epoch}")]


def _admission(authorizer: AuthorizerRules, quorum: QuorumPart, long: LongAnswers[QuorumEffect]) -> ControllerAdmission:
    """Imported where there is an authorizer: it brings two dozen modules."""
    from controller_runtime.node.controller_admission import ControllerAdmission

    return ControllerAdmission(authorizer, quorum, long)


def _out_of_turn(event: RequestReceived, _now: Instant, _wall: WallClock) -> list[QuorumEffect]:
    return [Respond(event.request_id, out_of_turn(event.body))]


def _call_of(event: RequestReceived) -> ControllerRequest:
    """As it came, in the name of who holds the connection."""
    return ControllerRequest(
        Asker(event.request_id, event.body, None, event.connection.connection_id),
        event.connection,
        event.api_key,
        event.api_version,
        principal=event.connection.principal,
        token_authenticated=event.connection.token_authenticated,
        client_id=event.client_id,
    )
