"""A controller without an authorizer, at rest, has not imported what only security needs: it costs memory and time."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

pytestmark = pytest.mark.unit

UNNEEDED: Final = (
    "hashlib",
    "controller_runtime.answers.rights.guard",
    "controller_runtime.broker.service",
    "controller_runtime.controller.acls",
    "controller_runtime.controller.delegation_tokens",
    "controller_runtime.controller.rights",
    "controller_runtime.controller.scram_credentials",
    "controller_runtime.network.tls",
    "controller_runtime.parts.authority",
    "controller_runtime.security.session",
)
AT_REST: Final = """
import sys
import controller_runtime.server.shell.process
import controller_runtime.server.shell.controller_assembly
import controller_runtime.node.controller_part
import controller_runtime.node.compose
print(*sys.modules)
"""


def test_a_controller_at_rest_has_imported_nothing_that_only_security_needs() -> None:
    done = subprocess.run([sys.executable, "-c", AT_REST], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "controller_runtime.node.active.active_controller" in loaded
    assert not loaded & set(UNNEEDED)
