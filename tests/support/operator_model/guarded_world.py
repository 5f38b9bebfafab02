"""A small world for the storage guard: disks, pods, a ledger and an operator, with the real guard and the real
formatting in them.

Disks are in memory and know what is durable; any operation may be the last one before a kill or a power cut. The
operator is the simplest right one: it grants what `inspect` reported, records what `seal` reported, and notes how far a
log had come. Whatever else is done to the world (wipe, swap, copy, replay) is an adversary's. `Breach` is raised when a
promise is broken.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import dataclass, field, replace

from controller_runtime.identifiers import DirectoryId, Endpoint, NodeId, Uuid
from controller_runtime.storage.formatting import FormatRequest, InitialVoter, directories_to_format, format_directory
from controller_runtime.storage.meta_properties import decode_meta_properties
from storage_guard.formats import (
    NO_INITIAL_CONTROLLERS,
    DiskVerdict,
    Grant,
    GrantMode,
    Identity,
    Report,
    config_hash,
    format_argument,
)
from storage_guard.passage import Hold
from storage_guard.pod import Environment, Pod
from storage_guard.steps import Guard
from storage_guard.volume import Volume
from support.disks.memory_disk import Crashed, MemoryDisk, Node, Policy
from support.disks.raw_batches import raw_batch

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
CONFIG = "process.roles=controller\n"
ROOT, LOG = "/data", "/data/log"
META = f"{LOG}/meta.properties"
SEGMENT_DIRECTORY = f"{LOG}/__cluster_metadata-0"
SEGMENT = f"{SEGMENT_DIRECTORY}/00000000000000000000.log"


class Breach(AssertionError):
    """A promise of the guard was broken."""


@dataclass
class Disk:
    """A physical volume. `blank` names its last emptying: an emptied disk is another one to its directories' ids."""

    serial: int
    memory: MemoryDisk = field(default_factory=MemoryDisk)
    blank: int = 0

    def __post_init__(self) -> None:
        self.memory.directories.add(ROOT)

    @property
    def incarnation(self) -> tuple[int, int]:
        return (self.serial, self.blank)

    @property
    def directory_id(self) -> str | None:
        node = self.memory.names.get(META)
        return str(decode_meta_properties(bytes(node.data), META).directory_id) if node else None

    def wipe(self) -> None:
        self.memory = MemoryDisk()
        self.memory.directories.add(ROOT)

    def wipe_log(self) -> None:
        """`rm -rf` of the log directory: our marker stays."""
        for path in [path for path in self.memory.names if path.startswith(LOG + "/")]:
            del self.memory.names[path]
        self.memory.durable_names = dict(self.memory.names)
        self.memory.directories = {path for path in self.memory.directories if not path.startswith(LOG)}


@dataclass
class PodOfNode:
    uid: str
    node_id: int
    kubelet: MemoryDisk = field(default_factory=MemoryDisk)
    inspected: Report | None = None
    sealed: Report | None = None
    started: bool = False
    granted: Grant | None = None

    def write(self, path: str, text: str) -> None:
        self.kubelet.directories |= {"/pod", "/run", "/config", "/ledger"}
        node = Node(bytearray(text.encode()), text.encode())
        self.kubelet.names[path] = self.kubelet.durable_names[path] = node


class World:
    """Several controllers of one cluster."""

    def __init__(self, nodes: int = 2) -> None:
        self._numbers = itertools.count(1)
        self.disks = {node: Disk(next(self._numbers)) for node in range(nodes)}
        self.pods: dict[int, PodOfNode] = {}
        self.ledger: dict[int, Identity] = {}
        self.grants: list[tuple[Grant, str]] = []
        self.copies: list[tuple[int, Disk]] = []
        self.used: dict[str, tuple[int, int]] = {}
        self.formatted: dict[tuple[int, int], str] = {}
        for node in self.disks:
            self.new_pod(node)

    # what Kubernetes does

    def new_pod(self, node: int) -> None:
        pod = PodOfNode(f"pod-{next(self._numbers)}", node)
        for path, text in (("/pod/uid", pod.uid), ("/pod/format-mode", NO_INITIAL_CONTROLLERS), ("/config/in", CONFIG)):
            pod.write(path, text)
        self.pods[node] = pod

    def run(self, node: int, crash_after: int | None = None, policy: Policy = "everything") -> str:
        """All containers of the pod from the first; killed (or the power cut) after some disk operations of the whole
        run.
        """
        pod, disk = self.pods[node], self.disks[node]
        pod.started, pod.inspected, pod.sealed = False, None, None
        if node in self.ledger:
            pod.write("/ledger/identity.json", self.ledger[node].to_json())
        operations: list[str] = []  # counted over both disks
        for memory in (disk.memory, pod.kubelet):
            memory.operations, memory.limit = operations, crash_after
        try:
            return self._run(pod, disk)
        except Crashed:
            disk.memory, pod.kubelet = disk.memory.survivors(policy), pod.kubelet.survivors(policy)
            return "Crashed"
        finally:
            disk.memory.limit = pod.kubelet.limit = None

    def guard(self, node: int) -> Guard:
        return Guard(Pod(self.pods[node].kubelet, _environment(node)), Volume(self.disks[node].memory, LOG))

    def _run(self, pod: PodOfNode, disk: Disk) -> str:
        guard = self.guard(pod.node_id)
        pod.inspected = guard.inspect()
        gate = guard.look_through_gate()
        if isinstance(gate, Hold):
            return gate.reason
        self._format(pod, disk)
        sealed = guard.look_for_seal()
        if isinstance(sealed, Hold):
            return sealed.reason
        pod.sealed = sealed
        self._start(pod, disk)
        return "Started"

    def _format(self, pod: PodOfNode, disk: Disk) -> None:
        """What `kafka-storage format --ignore-formatted MODE` does."""
        mode = bytes(pod.kubelet.names["/pod/format-mode"].data).decode()
        request = FormatRequest(CLUSTER_ID, NodeId(pod.node_id), [LOG], LOG, [], _voters(mode), ignore_formatted=True)
        for directory in directories_to_format(disk.memory, request):
            made = format_directory(
                disk.memory, directory, request, now=0, date="today", new_directory_id=self._new_directory_id
            )
            if disk.incarnation in self.formatted:
                raise Breach(f"disk {disk.incarnation} was formatted twice")
            self.formatted[disk.incarnation] = str(made.directory_id)

    def _new_directory_id(self) -> DirectoryId:
        return DirectoryId(Uuid.of(7, next(self._numbers) + 1000))

    def _start(self, pod: PodOfNode, disk: Disk) -> None:
        """A node begins to run: here every promise is checked."""
        meta = decode_meta_properties(bytes(disk.memory.names[META].data), META)
        directory_id = str(meta.directory_id)
        if (meta.cluster_id, meta.node_id) != (CLUSTER_ID, pod.node_id):
            raise Breach(f"node {pod.node_id} starts on a directory of node {meta.node_id}")
        if self.used.setdefault(directory_id, disk.incarnation) != disk.incarnation:
            raise Breach(f"directory id {directory_id} on {disk.incarnation} and on {self.used[directory_id]}")
        known = self.ledger.get(pod.node_id)
        if known is not None and known.directory_id != directory_id:
            raise Breach(f"the ledger knows {known.directory_id}, node {pod.node_id} starts on {directory_id}")
        end = disk.memory.names.get(SEGMENT)
        if known is not None and known.min_offset > (len(end.data) if end else 0):
            raise Breach(f"node {pod.node_id} starts on an old copy of {directory_id}")
        pod.started = True

    # what the node does

    def work(self, node: int) -> None:
        """A running node appends to its log; offsets are counted in a unit that equals bytes, to compare sizes."""
        pod, disk = self.pods[node], self.disks[node]
        if not pod.started or disk.directory_id is None:
            return
        disk.memory.directories |= {LOG, SEGMENT_DIRECTORY}
        old = bytes(disk.memory.names[SEGMENT].data) if SEGMENT in disk.memory.names else b""
        batch = raw_batch(len(old), 1, 1)
        batch = raw_batch(len(old), 1, len(batch))
        data = old + batch
        disk.memory.names[SEGMENT] = disk.memory.durable_names[SEGMENT] = Node(bytearray(data), data)

    # what the operator does

    def record(self, node: int) -> None:
        """Learn the identity from the seal."""
        report = self.pods[node].sealed
        if report is None or report.directory_id is None:
            return
        known = self.ledger.get(node)
        if known is None:
            self.ledger[node] = Identity(CLUSTER_ID, node, report.directory_id, report.nonce)

    def note_progress(self, node: int) -> None:
        """A planned stop: the ledger remembers how far the log had come, and that no other copy may be older."""
        disk, known = self.disks[node], self.ledger.get(node)
        if known is None or known.directory_id != disk.directory_id or not self.pods[node].started:
            return
        if SEGMENT in disk.memory.names:
            end = len(disk.memory.names[SEGMENT].data)
            self.ledger[node] = replace(known, min_epoch=1, min_offset=end)

    def grant(self, node: int, mode: GrantMode = GrantMode.NO_INITIAL_CONTROLLERS) -> None:
        """Only for what a right operator would grant: never formatted as far as the ledger knows."""
        pod = self.pods[node]
        report = pod.inspected
        if report is None or node in self.ledger or pod.granted is not None:
            return
        if report.verdict not in (DiskVerdict.EMPTY, DiskVerdict.UNFINISHED):
            return
        nonce = f"nonce-{next(self._numbers)}"
        planned, argument = None, NO_INITIAL_CONTROLLERS
        if mode is GrantMode.INITIAL_CONTROLLERS:
            planned = report.directory_id or str(Uuid.of(9, next(self._numbers) + 1000))
            argument = format_argument(mode, f"{node}@host:9093:{planned}")
        pod.granted = Grant(pod.uid, "pvc", "pv", node, CLUSTER_ID, mode, nonce, report.seen(), planned)
        self.grants.append((pod.granted, argument))
        self.deliver(node, pod.granted, argument)

    def deliver(self, node: int, grant: Grant, argument: str) -> None:
        self.pods[node].write("/pod/grant", grant.to_json())
        self.pods[node].write("/pod/format-mode", argument)

    # what adversaries do

    def wipe(self, node: int, *, marker_too: bool = True) -> None:
        """In place: the pod stays."""
        self.pods[node].started = False
        if marker_too:
            self.disks[node].wipe()
        else:
            self.disks[node].wipe_log()
        self.disks[node].blank = next(self._numbers)  # never again that of another copy of this disk

    def swap(self, left: int, right: int) -> None:
        """A pod cannot get another volume, so these are new pods."""
        self.disks[left], self.disks[right] = self.disks[right], self.disks[left]
        self.new_pod(left)
        self.new_pod(right)

    def replace_disk(self, node: int) -> None:
        self.disks[node] = Disk(next(self._numbers))
        self.new_pod(node)

    def copy(self, node: int) -> None:
        """An old copy keeps its serial: what was on it was on the same disk once."""
        source = self.disks[node]
        self.copies.append((node, Disk(source.serial, source.memory.survivors("everything"), source.blank)))

    def restore(self, number: int) -> None:
        if self.copies:
            node, copy = self.copies[number % len(self.copies)]
            serial = (
                copy.serial if copy.directory_id else next(self._numbers)
            )  # without an identity it is like a new disk
            self.disks[node] = Disk(serial, copy.memory.survivors("everything"), copy.blank)
            self.new_pod(node)

    def replay(self, node: int, number: int) -> None:
        """Copy an earlier grant's annotations onto this pod."""
        if self.grants:
            self.deliver(node, *self.grants[number % len(self.grants)])


def _environment(node: int) -> Environment:
    return Environment(
        node, CLUSTER_ID, True, LOG, "/ledger/identity.json", "/pod", "/run", "/config/in", "/config/out",
        config_hash(CONFIG), False,
    )  # fmt: skip


def _voters(mode: str) -> list[InitialVoter]:
    if not mode.startswith("--initial-controllers="):
        return []
    voters = []
    for entry in mode.partition("=")[2].split(","):
        node, _, rest = entry.partition("@")
        host, port, directory = rest.split(":")
        voters.append(InitialVoter(NodeId(int(node)), DirectoryId(Uuid.parse(directory)), Endpoint(host, int(port))))
    return voters


def random_history(rng: random.Random, steps: int = 40) -> tuple[World, Counter[str]]:
    """A history of honest work, crashes and adversaries; returns how each run of a pod ended. Raises `Breach`."""
    world, outcomes = World(), Counter[str]()
    policies: tuple[Policy, ...] = ("everything", "synced only", "half of unsynced")
    for _ in range(steps):
        node = rng.randrange(2)
        match rng.randrange(14):
            case 0:
                outcomes[world.run(node)] += 1
            case 1 | 2:
                outcomes[form(world, node, rng)] += 1
                if rng.random() < 0.5:
                    world.record(node)
            case 3:
                outcomes[form(world, node, rng, rng.randrange(30), rng.choice(policies))] += 1
            case 4:
                outcomes[world.run(node, rng.randrange(15), rng.choice(policies))] += 1
            case 5 | 6:
                outcomes[world.run(node)] += 1
                world.work(node)
                world.note_progress(node)
            case 7:
                world.wipe(node, marker_too=rng.random() < 0.5)
            case 8:
                world.swap(0, 1)
            case 9:
                world.replace_disk(node)
            case 10:
                world.copy(node)
            case 11:
                world.restore(rng.randrange(10))
            case 12:
                world.replay(node, rng.randrange(10))
            case _:
                rng.choice((world.new_pod, world.record))(node)
    return world, outcomes


def form(
    world: World, node: int, rng: random.Random, crash_after: int | None = None, policy: Policy = "everything"
) -> str:
    """The usual way of a first start: inspect, grant, and the rest."""
    world.run(node)
    world.grant(node, rng.choice((GrantMode.INITIAL_CONTROLLERS, GrantMode.NO_INITIAL_CONTROLLERS)))
    return world.run(node, crash_after, policy)
