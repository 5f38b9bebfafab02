"""A network with one namespace per node, so that a node's cable can be pulled: packets vanish and nobody notices.

with Network(3) as network:
    network.enter(1), network.address(1), network.pull(1), network.plug(1)

Needs root and iproute2. Everything it makes is named `qbench…` and taken away at the end; what an earlier, killed run
left is taken away first.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

BRIDGE: Final = "qbench0"
PREFIX: Final = "10.199.77"


@dataclass(frozen=True, slots=True)
class Network:
    count: int

    def address(self, number: int) -> str:
        return f"{PREFIX}.{number}"

    def enter(self, number: int) -> list[str]:
        """Words before a command that make it run in node `number`'s namespace."""
        return ["ip", "netns", "exec", _namespace(number)]

    def pull(self, number: int) -> list[str]:
        """The command that cuts node `number` off."""
        return ["ip", "link", "set", _cable(number), "down"]

    def plug(self, number: int) -> list[str]:
        return ["ip", "link", "set", _cable(number), "up"]

    def __enter__(self) -> Self:
        self._remove()
        _run("link", "add", BRIDGE, "type", "bridge")
        _run("addr", "add", f"{PREFIX}.254/24", "dev", BRIDGE)
        _run("link", "set", BRIDGE, "up")
        for number in range(1, self.count + 1):
            name, cable = _namespace(number), _cable(number)
            _run("netns", "add", name)
            _run("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
            _run("link", "set", cable, "master", BRIDGE, "up")
            _run("-n", name, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            _run("-n", name, "link", "set", "eth0", "up")
            _run("-n", name, "link", "set", "lo", "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        for number in range(1, self.count + 1):
            _run("link", "del", _cable(number), check=False)
            _run("netns", "del", _namespace(number), check=False)
        _run("link", "del", BRIDGE, check=False)


def _namespace(number: int) -> str:
    return f"qbench-{number}"


def _cable(number: int) -> str:
    return f"qbench-cable{number}"


def _run(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=True)
