"""The thousands of random schedules run beside the other tests of this folder, from the first of them on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import pytest

from support import sampling
from support.simulation.beside import Campaign, start

SOAK: Final = bool(os.environ.get("QUORATE_SOAK"))
SCHEDULES: Final = int(os.environ.get("QUORATE_SCHEDULES", "1000000" if SOAK else "20000"))
SECONDS: Final = None if SOAK else float(os.environ.get("QUORATE_SCHEDULE_SECONDS", "300"))
"""After this long no more are begun, so that a slow machine is not kept; the number that ran is printed."""


@pytest.fixture(scope="session", autouse=True)
def thousands(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign | None]:
    """Not begun unless somebody is going to ask how it ended."""
    if not any(item.name.startswith("test_thousands_of_random_schedules") for item in request.session.items):
        yield None
        return
    campaign = start(sampling.run_seed() + 24, SCHEDULES, SECONDS, tmp_path_factory.mktemp("schedules") / "said.txt")
    yield campaign
    campaign.end()
