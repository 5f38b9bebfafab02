"""A broker that was killed leads again when it starts, by the registration of its last run, which the controller has
not fenced yet. Ours did until brokers were simulated.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.lifecycle import State
from controller_runtime.broker.log_events import LogEvents
from controller_runtime.identifiers import Instant

SOURCE = "this repository, before d89db4d"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = LogEvents.recover

    def recover(self: LogEvents, now: Instant) -> bool:
        if not self._recovering and self._lifecycle.state is State.STARTING:
            self._recovering = True
            self._changes.begin()
            return True
        return honest(self, now)

    patch.setattr(LogEvents, "recover", recover)
