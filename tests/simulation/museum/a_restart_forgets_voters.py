"""After a restart a node acts by the voters of its snapshot and forgets those in its log (RCF-11): jraft lost the
configuration that it had written but not committed.
"""

from __future__ import annotations

import pytest

from controller_runtime.node.quorum import log_reading

SOURCE = "andy-yx-chen/jraft#1, camunda/camunda#62837"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(log_reading, "_read_voters", lambda *_: None)
