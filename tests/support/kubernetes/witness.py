"""Looks at a story's pods and disks all the while, and remembers what no final state tells: who was made anew, and what
was formatted when.

A disk is looked at itself, beside the node: its meta.properties as a file. It is written once, when the disk is
formatted; a second formatting is another file or another content.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kraft_operator.kube import CLAIM, POD, VOLUME, KubeError
from support.kubernetes.operator_process import Story

EVERY_S: Final = 0.4
LABEL: Final = "kraft.quorate.dev/cluster"


@dataclass(slots=True)
class Witness:
    story: Story
    pods: dict[str, set[str]] = field(default_factory=dict)
    """UIDs by name."""
    formats: dict[str, set[tuple[int, str]]] = field(default_factory=dict)
    """By volume: inode and content of its meta.properties."""
    stop: threading.Event = field(default_factory=threading.Event)

    def restarts(self) -> dict[str, int]:
        """How often each pod was made anew."""
        return {name: len(uids) - 1 for name, uids in self.pods.items()}

    def directories(self) -> dict[str, list[str]]:
        """Directory ids, and the volumes that bore each."""
        found: dict[str, list[str]] = {}
        for volume, files in sorted(self.formats.items()):
            for _, text in files:
                found.setdefault(_value(text, "directory.id"), []).append(volume)
        return found

    def watch(self) -> None:
        while not self.stop.wait(EVERY_S):
            try:
                self.look()
            except (KubeError, OSError):
                continue  # a volume that is being deleted, an API server that is busy

    def look(self) -> None:
        gateway, selector = self.story.kubernetes.gateway, f"{LABEL}={self.story.name}"
        for pod in gateway.list(POD, self.story.namespace, selector):
            self.pods.setdefault(pod["metadata"]["name"], set()).add(pod["metadata"]["uid"])
        for claim in gateway.list(CLAIM, self.story.namespace, selector):
            if not (name := claim["spec"].get("volumeName")):
                continue
            volume = gateway.find(VOLUME, None, name)
            if volume is None:
                continue
            for path in Path(volume["spec"]["local"]["path"]).rglob("meta.properties"):
                self.formats.setdefault(name, set()).add((path.stat().st_ino, path.read_text()))


@contextmanager
def witness(story: Story) -> Iterator[Witness]:
    found = Witness(story)
    thread = threading.Thread(target=found.watch, name="witness", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.stop.set()
        thread.join(30)


def _value(text: str, key: str) -> str:
    return next((line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{key}=")), "")
