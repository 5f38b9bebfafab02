"""After every volley: is everybody alive, is everybody served, does the quorum agree, is memory bounded, are the logs
clean?

What it finds is a list of sentences; an empty one says that the volley did no harm. Elections are counted: a voter that
speaks may cause one within the rules (`raft/epoch_claims.py`), but commits go on, so the canaries' topics are made
whatever happens.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from support.fuzz.canary import DESCRIBE_QUORUM, BrokerCanary, Client, Wrong
from support.fuzz.nodes import Nodes
from support.fuzz.shots import Target
from support.fuzz.words import TOPIC_IDS, TOPICS
from support.nodes.processes import NodeProcess

MAX_RSS_MIB: Final = 700
"""No node of these holds so much, whatever it is sent."""
MAX_FOREIGN_TOPICS: Final = 40
MAX_PARTITIONS: Final = 400
ENDING_SECONDS: Final = 1.0
AGREE_SECONDS: Final = 60.0
_BAD_LINES: Final = re.compile(
    r"^.*(?:Traceback|CRITICAL|AssertionError|Task exception|never retrieved|Segmentation).*$", re.MULTILINE
)
_SAID: Final = 1500


def resident_mib(node: NodeProcess) -> int:
    status = Path(f"/proc/{node.pid}/status").read_text()
    sizes = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")]
    return sizes[0] // 1024 if sizes else 0  # none: it is ending just now


@dataclass
class Judge:
    nodes: Nodes
    elections: int = 0
    highest_rss: dict[int, int] = field(default_factory=dict)
    ids: dict[Target, dict[bytes, bytes]] = field(default_factory=dict)
    """What the placeholders of topic ids stand for now, at each listener."""
    _read: dict[int, int] = field(default_factory=dict)
    _epochs: dict[str, int] = field(default_factory=dict)
    _rounds: int = 0

    async def begin(self) -> None:
        nodes = self.nodes
        self.canaries = [
            BrokerCanary(one.port, one.node_id, f"canary-{one.node_id}") for one in (nodes.broker, nodes.combined)
        ]
        for canary in self.canaries:
            await canary.begin()
        self._controllers = {node.node_id: Client(node.port) for node in nodes.controllers}
        self._controllers[nodes.combined.node_id] = Client(nodes.combined_port)
        await self.judge()
        self.elections = 0

    async def close(self) -> None:
        """Let go of the connections."""
        for client in (*self._controllers.values(), *(canary.client for canary in self.canaries)):
            client.close()
        await asyncio.sleep(0)

    async def judge(self, *, whole: bool = False) -> list[str]:
        """What is wrong, most telling first."""
        self._rounds += 1
        found = self.dead()
        if found:
            return found
        try:
            await asyncio.gather(*(canary.sing(whole=whole or self._rounds % 50 == 0) for canary in self.canaries))
            await self._quorum()
            for canary in self.canaries:
                await self._clean_up(canary)
        except Wrong as wrong:
            await asyncio.sleep(ENDING_SECONDS)  # of a node that ends the connections go first
            found = self.dead() or [str(wrong)]
        return found + self._memory() + self._logs()

    def dead(self) -> list[str]:
        return [
            f"node {node.node_id} ended with {node.process.poll() if node.process else '?'}: ...{node.log()[-_SAID:]}"
            for node in self.nodes.dead()
        ]

    async def _quorum(self) -> None:
        """One leader that commits, and every controller has got as far as it had when we asked."""
        deadline = asyncio.get_running_loop().time() + AGREE_SECONDS
        wanted = -1
        while True:
            told = await self.described()
            if told is not None:
                wanted = told.high_watermark if wanted < 0 else wanted
                self._count("quorum", told.leader_epoch)
                ends = [voter.log_end_offset for voter in told.current_voters]
                if len(ends) != len(self.nodes.controllers):
                    raise Wrong(f"the voters are {told.current_voters}")
                if told.high_watermark > wanted and min(ends) >= wanted:
                    break
            if asyncio.get_running_loop().time() > deadline:
                raise Wrong(f"the quorum does not get beyond {wanted}: {told}")
            await asyncio.sleep(0.05)
        alone = await self._described([self.nodes.combined.node_id])
        if alone is not None:
            self._count("combined", alone.leader_epoch)

    def quorum_clients(self) -> list[Client]:
        return [self._controllers[node.node_id] for node in self.nodes.controllers]

    async def described(self) -> Any:
        """What the quorum's leader says of it; None: nobody leads just now."""
        return await self._described([node.node_id for node in self.nodes.controllers])

    async def _described(self, ids: list[int]) -> Any:
        for node_id in ids:
            answer = await self._controllers[node_id].ask(DESCRIBE_QUORUM, 2)
            if answer.topics and answer.topics[0].partitions[0].error_code == 0:
                return answer.topics[0].partitions[0]
        return None

    def _count(self, which: str, epoch: int) -> None:
        self.elections += max(0, epoch - self._epochs.get(which, epoch))
        self._epochs[which] = epoch

    def _memory(self) -> list[str]:
        sizes = {node.node_id: resident_mib(node) for node in self.nodes.all if node.is_running}
        for node_id, size in sizes.items():
            self.highest_rss[node_id] = max(size, self.highest_rss.get(node_id, 0))
        return [f"node {node_id} holds {size} MiB" for node_id, size in sizes.items() if size > MAX_RSS_MIB]

    def _logs(self) -> list[str]:
        found = []
        for node in self.nodes.all:
            with node.log_file.open("rb") as file:
                file.seek(self._read.get(node.node_id, 0))
                new = file.read()
            self._read[node.node_id] = self._read.get(node.node_id, 0) + len(new)
            text = new.decode(errors="replace")
            if bad := _BAD_LINES.search(text):
                found.append(f"node {node.node_id} says {text[bad.start() : bad.start() + _SAID]}")
        return found

    async def _clean_up(self, canary: BrokerCanary) -> None:
        """Delete what the fuzz made beyond a bound, make the topics anew that it writes to, and learn their ids."""
        topics = (await canary.client.ask(MetadataRequest(topics=None), 12)).topics
        foreign = [topic.name for topic in topics if topic.name and not topic.name.startswith("canary-")]
        if len(foreign) > MAX_FOREIGN_TOPICS or sum(len(topic.partitions) for topic in topics) > MAX_PARTITIONS:
            gone = tuple(DeleteTopicState(name=name) for name in foreign)
            await canary.client.ask(DeleteTopicsRequest(topics=gone, timeout_ms=30_000), 6)
            foreign = []
        missing = [name for name in TOPICS if name not in foreign]
        for name in missing:
            await canary.create(name, partitions=2)
        known = {topic.name: bytes(topic.topic_id) for topic in topics}
        ids = {stand_in: known[name] for name, stand_in in zip(TOPICS, TOPIC_IDS, strict=True) if name in known}
        mine = canary.node_id == self.nodes.broker.node_id
        for target in Target:
            if mine != target.name.startswith("COMBINED"):
                self.ids[target] = ids

    def diverging(self) -> list[str]:
        """At the end: what two controllers have of one segment must begin with the same bytes."""
        found = []
        first, *others = (Path(node.properties["log.dirs"]) / "__cluster_metadata-0" for node in self.nodes.controllers)
        for segment in sorted(first.glob("*.log")):
            mine = segment.read_bytes()
            for other in others:
                theirs = (other / segment.name).read_bytes() if (other / segment.name).exists() else b""
                common = min(len(mine), len(theirs))
                if mine[:common] != theirs[:common]:
                    found.append(f"{segment} and {other / segment.name} differ")
        return found
