"""Operators one after the other, each taking over from the one that died before it: at a step that the story names, or
wherever it is just now.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.kubernetes.operator_process import Images, OperatorProcess, operator

LEASE = "10 8 1"
"""Short: whoever takes over waits for the Lease of the dead."""


class Succession:
    def __init__(self, namespace: str, folder: Path, images: Images, first_port: int, lease: str = LEASE) -> None:
        self._namespace, self._folder, self._images, self._lease = namespace, folder, images, lease
        self._stack = ExitStack()
        self._port = first_port
        self._places: list[str] = []
        self.current: OperatorProcess | None = None
        self.died_at: list[str] = []

    def start(self, failpoints: str = "") -> OperatorProcess:
        """In place of the one that runs, if one does."""
        self.stop()
        self._port += 1
        self.current = self._stack.enter_context(
            operator(
                self._namespace, self._folder, self._images, failpoints=failpoints, port=self._port, lease=self._lease
            )
        )
        return self.current

    def kill(self) -> None:
        """By SIGKILL, wherever it is; its successor starts."""
        assert self.current is not None
        os.kill(self.current.pid(), signal.SIGKILL)
        self.current.process.wait(30)
        self.died_at.append("anywhere")
        self.start()

    def die_at(self, places: Iterable[str]) -> None:
        """One operator for each place: it ends there, and `tend` starts the next one. The last lives."""
        self._places = list(places)
        self.start(f"{self._places[0]}=exit")

    def tend(self) -> bool:
        """Start the successor of whoever ended. True when nobody is left to die."""
        if self._places and self.current is not None and self.current.ended():
            self.died_at.append(self._places.pop(0))
            self.start(f"{self._places[0]}=exit" if self._places else "")
        return not self._places

    def stop(self) -> None:
        self._stack.close()


@contextmanager
def succession(
    namespace: str, folder: Path, images: Images, first_port: int, lease: str = LEASE
) -> Iterator[Succession]:
    """With the first operator running."""
    found = Succession(namespace, folder, images, first_port, lease)
    try:
        found.start()
        yield found
    finally:
        found.stop()
