"""Where a node's log goes: standard output, one line per entry, as text or JSON. And its loggers, whose levels clients
see and change by Kafka's names of levels (`BROKER_LOGGER`).
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable
from typing import Final

TRACE: Final = 5
_KAFKA_LEVELS: Final = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_ROOT: Final = "root"
_OURS: Final = "controller_runtime"
_GROUPS: Final = (_OURS, f"{_OURS}.network", f"{_OURS}.server", "asyncio")
"""Loggers that are there before anything is logged."""
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


_ESCAPED: Final = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}
"""Ends of lines, and what a terminal obeys: names in a message may be a client's choice (log injection)."""


class TextFormatter(logging.Formatter):
    """`[2026-11-21 16:04:05,123] INFO text (logger)`, as Kafka's own layout; one line, but for an exception."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(record.created))
        message = record.getMessage().translate(_ESCAPED)
        text = f"[{when},{int(record.msecs):03d}] {record.levelname} {message} ({record.name})"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        import json

        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry = {
            "time": f"{when}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def set_up(log_format: str, level: str) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS[level])
    logging.addLevelName(TRACE, "TRACE")
    logging.getLogger("asyncio").setLevel(max(_LEVELS[level], logging.WARNING))


def levels() -> dict[str, str]:
    """The loggers of this process, each with the level from which on it speaks."""
    there = (name for name, logger in logging.root.manager.loggerDict.items() if isinstance(logger, logging.Logger))
    names = {*_GROUPS, *(name for name in there if name.startswith(f"{_OURS}."))}
    return {_ROOT: _named(logging.root), **{name: _named(logging.getLogger(name)) for name in names}}


def set_levels(wanted: Iterable[tuple[str, str | None]]) -> None:
    """None: what the logger above has."""
    for name, level in wanted:
        logger = logging.root if name == _ROOT else logging.getLogger(name)
        logger.setLevel(logging.NOTSET if level is None else _KAFKA_LEVELS[level])


def _named(logger: logging.Logger) -> str:
    """Kafka's name for what the logger lets pass."""
    threshold = logger.getEffectiveLevel()
    return next((name for name, level in _KAFKA_LEVELS.items() if threshold <= level), "FATAL")
