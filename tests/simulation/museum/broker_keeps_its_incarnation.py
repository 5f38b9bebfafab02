"""A broker registers with the same incarnation in every run: the controller takes it for the one that it knows, with
the epoch that it had.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.lifecycle import BrokerLifecycle
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from controller_runtime.values import replace

SOURCE = "class of defect: KIP-631, IncarnationId is not new"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = BrokerLifecycle._registration

    def registration(self: BrokerLifecycle) -> BrokerRegistrationRequest:
        return replace(honest(self), incarnation_id=Uuid(bytes(15) + b"1"))

    patch.setattr(BrokerLifecycle, "_registration", registration)
