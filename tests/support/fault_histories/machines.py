"""One controller and three brokers of ours, each in a network and on a disk of its own, and what can befall them.

A keeper (`sleep`) holds the namespaces of a machine: its network is one end of a cable to a bridge, its disk a tmpfs.
All of it goes when the keeper does. Needs root; the caller is in a network of its own (`own_network`).
"""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from support.fault_histories.plan import BROKERS, CONTROLLER
from support.nodes.processes import CLUSTER_ID, ENVIRONMENT, REPOSITORY, NodeProcess, eventually

DISK_BYTES: Final = 64 << 20
BROKER_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
_BRIDGE: Final = "between"
_SETTINGS: Final = {
    "quorate.insecure": "true",  # a network of its own is no loopback
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "3000",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.bytes": "1048576",
}


def address(node_id: int) -> str:
    return f"10.77.0.{node_id + 100}"


class Machine:
    def __init__(self, node_id: int, home: Path) -> None:
        self.node_id, self.home = node_id, home
        self._keeper = subprocess.Popen(
            ("unshare", "--net", "--mount", "--propagation", "private", "sleep", "infinity")
        )
        self.disk = home / "disk"
        self.disk.mkdir(parents=True)
        eventually("namespaces of its own", self._is_apart, 20)
        self._connect()
        self._inside("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(self.disk))
        self.node = NodeProcess(node_id, home, self._properties(), 0, 0, wrapper=self._enter)
        self.is_frozen = False

    def _is_apart(self) -> bool:
        mine = Path("/proc/thread-self/ns/net").readlink()
        its = Path(f"/proc/{self._keeper.pid}/ns/net").readlink()
        is_asleep = Path(f"/proc/{self._keeper.pid}/comm").read_text().strip() == "sleep"
        return is_asleep and mine != its

    def _connect(self) -> None:
        run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", str(self._keeper.pid))
        run("ip", "link", "set", self._cable, "master", _BRIDGE, "up")
        for words in (
            ("link", "set", "lo", "up"),
            ("address", "add", f"{address(self.node_id)}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
        ):
            self._inside("ip", *words)

    @property
    def _cable(self) -> str:
        return f"to-{self.node_id}"

    @property
    def _enter(self) -> tuple[str, ...]:
        return ("nsenter", f"--target={self._keeper.pid}", "--net", "--mount", f"--wd={REPOSITORY}", "--")

    def _inside(self, *words: str) -> None:
        run(*self._enter, *words)

    def _properties(self) -> dict[str, str]:
        is_broker = self.node_id in BROKERS
        name, port = ("PLAINTEXT", BROKER_PORT) if is_broker else ("CONTROLLER", CONTROLLER_PORT)
        return {
            "process.roles": "broker" if is_broker else "controller",
            "node.id": str(self.node_id),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": f"{name}://{address(self.node_id)}:{port}",
            "controller.quorum.bootstrap.servers": f"{address(CONTROLLER)}:{CONTROLLER_PORT}",
            "log.dirs": str(self.disk / "data"),
            **_SETTINGS,
        }

    def format(self) -> None:
        self.node.write_properties()
        command = (sys.executable, "-m", "controller_runtime.cli.main", "storage", "format")
        alone = () if self.node_id in BROKERS else ("--standalone",)
        run(*self._enter, *command, "-c", str(self.node.properties_file), "-t", CLUSTER_ID, *alone)

    # What can befall it.

    def kill(self) -> None:
        self.node.kill()
        self.is_frozen = False

    def freeze(self) -> None:
        if self.node.is_running:
            self.node.process.send_signal(signal.SIGSTOP)  # type: ignore[union-attr]
            self.is_frozen = True

    def cut(self) -> None:
        run("ip", "link", "set", self._cable, "down")

    def cut_from(self, other: Machine) -> None:
        """Neither hears the other one."""
        for one, its in ((self, other), (other, self)):
            one._inside("iptables", "-I", "INPUT", "-s", address(its.node_id), "-j", "DROP")

    def fill(self) -> None:
        with suppress(subprocess.CalledProcessError):  # it takes what fits
            self._inside("dd", "if=/dev/zero", f"of={self._ballast}", "bs=64K", "status=none")

    @property
    def _ballast(self) -> Path:
        return self.disk / "ballast"

    def mend(self) -> None:
        """Whatever befell it is over; a process that ended is started."""
        if self.is_frozen and self.node.is_running:
            self.node.process.send_signal(signal.SIGCONT)  # type: ignore[union-attr]
        self.is_frozen = False
        run("ip", "link", "set", self._cable, "up")
        self._inside("iptables", "-F", "INPUT")
        self._inside("rm", "-f", str(self._ballast))
        if not self.node.is_running:
            self.node.start()

    def close(self) -> None:
        self.node.kill()
        self._keeper.kill()
        self._keeper.wait(20)


class Machines:
    """All of them, formatted and started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.each: dict[int, Machine] = {}
        run("ip", "link", "add", _BRIDGE, "type", "bridge", "forward_delay", "0")
        run("ip", "address", "add", "10.77.0.1/24", "dev", _BRIDGE)
        run("ip", "link", "set", _BRIDGE, "up")
        try:
            for node_id in (CONTROLLER, *BROKERS):
                self.each[node_id] = Machine(node_id, directory / f"node-{node_id}")
                self.each[node_id].format()
                self.each[node_id].node.start()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{address(each)}:{BROKER_PORT}" for each in BROKERS)

    def mend(self) -> None:
        for machine in self.each.values():
            machine.mend()

    def close(self) -> None:
        for machine in self.each.values():
            machine.close()
        run("ip", "link", "delete", _BRIDGE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is not None:
            for machine in self.each.values():
                print(f"--- node {machine.node_id}\n{machine.node.log()[-3000:]}")


def run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd=REPOSITORY)
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
