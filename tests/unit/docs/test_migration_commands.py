"""The commands of docs/operations/migration.md are ones that `tests/interop/test_live_migration.py` can run."""

from __future__ import annotations

import pytest

from controller_runtime.cli.main import TOOLS
from support.apache_kafka.java_kafka import MAIN_CLASSES
from support.apache_kafka.runbook import commands, words_of

pytestmark = pytest.mark.unit

PAGE = "migration.md"
HEADINGS = ("Before you begin", "New voters", "And back", "Same disks")
NAMES = ("QUORUM", "CLUSTER_ID", "OLD", "NEW", "OLD_DIRECTORY", "NEW_DIRECTORY")


@pytest.mark.parametrize("heading", HEADINGS)
def test_every_command_is_a_tool_of_both_kinds_and_names_what_the_page_explains(heading: str) -> None:
    found = [words_of(each, dict.fromkeys(NAMES, "x")) for each in commands(PAGE, heading)]
    tools = {words[0] for words in found} - {"kafka-server-stop"}
    assert {tool.removeprefix("kafka-") for tool in tools} <= set(TOOLS)
    assert tools <= set(MAIN_CLASSES)


def test_what_the_page_does_not_explain_is_no_command() -> None:
    with pytest.raises(AssertionError, match="unknown variables"):
        words_of("kafka-features --bootstrap-controller $NOBODY describe", {"QUORUM": "x"})
    with pytest.raises(AssertionError, match="0 sections 'Nowhere'"):
        commands(PAGE, "Nowhere")
