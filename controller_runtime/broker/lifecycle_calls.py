"""What a broker and the active controller say to each other about the broker itself: it registers, then it says now and
then that it is alive, and how far it has come.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.lifecycle import BrokerLifecycle, Fatal
from controller_runtime.broker.long_answers import Effects
from controller_runtime.identifiers import Endpoint, Instant, NodeId, Offset
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call, Log, Stop
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.schema import Message

HEARTBEAT_CHANNEL: Final = "heartbeat"
_TIMEOUT_MS: Final = 4_500
"""Half of the default session: one lost request does not fence the broker."""


class LifecycleCalls:
    def __init__(self, node_id: NodeId, lifecycle: BrokerLifecycle, calls: CallIds) -> None:
        self._node_id = node_id
        self._lifecycle = lifecycle
        self._calls = calls
        self._said = ""
        self._is_over = False

    def poll(self, last_offset: Offset, controller: Endpoint | None, now: Instant) -> Effects:
        """The next registration or heartbeat, if it is due. `last_offset`: of the newest image."""
        if self._is_over:
            return []
        due = self._lifecycle.poll(last_offset, now, reachable=controller is not None)
        if due is None or isinstance(due, Fatal):
            return self.end(due)
        assert controller is not None, "it is reachable"
        return [Call(self._calls.next(), HEARTBEAT_CHANNEL, controller, due, _TIMEOUT_MS)]

    def on_response(self, body: Message, now: Instant) -> Effects:
        match body:
            case BrokerRegistrationResponse():
                fatal = self.end(self._lifecycle.on_registration(body, now))
                return [*self._refusal(), *fatal]
            case BrokerHeartbeatResponse():
                self._lifecycle.on_heartbeat(body, now)
            case _:
                self._lifecycle.failed(now)
        return []

    def on_failure(self, now: Instant) -> None:
        self._lifecycle.failed(now)

    def end(self, fatal: Fatal | None) -> Effects:
        """The process stops, once."""
        if fatal is None or self._is_over:
            return []
        self._is_over = True
        return [Stop(fatal.reason, fault=True)]

    def _refusal(self) -> Effects:
        """Each reason once: registration is tried again several times a second."""
        refusal = self._lifecycle.last_refusal
        if refusal is None or refusal == self._said:
            return []
        self._said = refusal
        return [Log("warning", f"registration as broker {self._node_id}: {refusal}")]
