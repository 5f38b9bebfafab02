"""A broker asks to be unfenced before it has replayed its own registration: it would serve by what it knew before."""

from __future__ import annotations

import pytest

from controller_runtime.broker.lifecycle import BrokerLifecycle
from controller_runtime.identifiers import Offset
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.values import replace

SOURCE = "class of defect: KIP-631, a heartbeat tells an offset that was not replayed"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = BrokerLifecycle._heartbeat

    def heartbeat(self: BrokerLifecycle, offset: Offset) -> BrokerHeartbeatRequest:
        return replace(honest(self, offset), current_metadata_offset=self.epoch, want_fence=False)

    patch.setattr(BrokerLifecycle, "_heartbeat", heartbeat)
