"""Tells the demo's story: plain sentences, each with the seconds since the beginning and how long its step took."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class Narrator:
    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._began = time.monotonic()

    def say(self, sentence: str) -> None:
        print(f"{time.monotonic() - self._began:7.1f} s  {sentence}", file=self._out, flush=True)

    def detail(self, line: str) -> None:
        print(f"{'':11}· {line}", file=self._out, flush=True)

    def block(self, text: str) -> None:
        print("\n" + "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines()) + "\n", file=self._out)
        self._out.flush()

    @contextmanager
    def chapter(self, beginning: str, end: str) -> Iterator[None]:
        self.say(beginning)
        began = time.monotonic()
        yield
        self.say(f"{end} ({time.monotonic() - began:.1f} s)")
