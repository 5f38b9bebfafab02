from __future__ import annotations

import ast
from pathlib import Path

import pytest

from controller_runtime.configuration.names import ACTED, BY_NAME, CONFIG_NAMES
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS

pytestmark = pytest.mark.unit

IN_PART = {"sasl.jaas.config", "request.timeout.ms"}
"""Ignored says the table, and why: a login module is read where it is written for a listener and a mechanism, and only
markers of transactions are sent with the time for a request.
"""
RUNTIME = Path(__file__).parents[3] / "controller_runtime"


def strings_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def read_through_topics() -> set[str]:
    """A node's setting also acts as the default of a topic's, where the broker reads that one."""
    readers = (RUNTIME / "server" / "shell" / "topic_logs.py", RUNTIME / "broker" / "append_rules.py")
    topic_names = set().union(*map(strings_of, readers)) & set(TOPIC_CONFIGS)
    return {name for topic in topic_names for name in TOPIC_CONFIGS[topic].broker_names}


def test_acted_on_is_true_exactly_for_names_that_code_reads() -> None:
    tables = {RUNTIME / "configuration" / "names.py", RUNTIME / "configuration" / "settings.py"}
    rooms = (RUNTIME / "configuration", RUNTIME / "server")
    readers = [path for room in rooms for path in room.rglob("*.py") if path not in tables]
    readers += [RUNTIME / "answers" / "connection_limits.py", RUNTIME / "coordinator" / "group_settings.py"]
    readers += [
        RUNTIME / "coordinator" / room / "settings.py"
        for room in ("consumer", "share", "share_partitions", "share_state", "streams", "transactions")
    ]
    readers.append(RUNTIME / "broker" / "topic_rules.py")
    used = (set().union(*map(strings_of, readers)) | read_through_topics()) & set(BY_NAME)
    used -= IN_PART
    acted = {row.name for row in CONFIG_NAMES if row.standing == ACTED}
    assert acted == used
