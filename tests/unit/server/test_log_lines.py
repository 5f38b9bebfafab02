from __future__ import annotations

import json
import logging
import sys

import pytest

from controller_runtime.server.telemetry.logs import JsonFormatter, TextFormatter

pytestmark = pytest.mark.unit


def record(text: str, *, failed: bool = False) -> logging.LogRecord:
    trouble = None
    if failed:
        try:
            raise ValueError("why")
        except ValueError:
            trouble = sys.exc_info()
    made = logging.LogRecord("a.logger", logging.WARNING, "file", 1, "%s", (text,), trouble)
    made.created, made.msecs = 1_795_280_000.25, 250.0
    return made


def test_a_text_line_is_laid_out_as_kafkas() -> None:
    assert TextFormatter().format(record("moved")) == "[2026-11-21 16:53:20,250] WARNING moved (a.logger)"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029", "\x1b[2K"])
def test_nobody_writes_a_line_of_the_log_by_the_name_that_he_chooses(end: str) -> None:
    forged = "[2026-11-21 16:53:20,250] INFO User:admin has logged in (a.logger)"
    line = TextFormatter().format(record(f"request 7 of ann{end}{forged}"))
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line
    assert line.startswith("[2026-11-21 16:53:20,250] WARNING request 7 of ann\\")


def test_a_json_line_is_one_object_even_with_line_breaks_and_an_exception() -> None:
    line = JsonFormatter().format(record('two\nlines "quoted"', failed=True))
    assert "\n" not in line
    entry = json.loads(line)
    assert entry["time"] == "2026-11-21T16:53:20.250Z"
    assert (entry["level"], entry["logger"], entry["message"]) == ("warning", "a.logger", 'two\nlines "quoted"')
    assert "ValueError: why" in entry["exception"]
