"""The session of the tests, given to a command that would stop its own."""

from __future__ import annotations

from typing import Any


class Kept:
    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def stop(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)
