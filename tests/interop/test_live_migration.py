"""Controllers of Apache Kafka are replaced by ours, one by one, and back, under a broker of Java's and clients that
want every acknowledgement, by the commands of docs/operations/migration.md (INT-02, INT-05, INT-06).

Apache Kafka's VerifiableProducer and VerifiableConsumer judge the records, the logs of the voters what was changed at
the controllers meanwhile. How long writes paused is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from support.apache_kafka.java_brokers import SMALL, STARTED
from support.apache_kafka.java_kafka import ToolResult
from support.apache_kafka.mixed_quorum import JAVA, OURS, SECONDS, MixedQuorum
from support.apache_kafka.mixed_story import assert_nothing_is_lost, chosen
from support.apache_kafka.runbook import commands, words_of
from support.apache_kafka.verifiable_clients import Verifiable
from support.clients.config_load import ConfigLoad
from support.nodes.processes import CLUSTER_ID, eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

PAGE: Final = "migration.md"
BROKER: Final = 11
OLD: Final = (1, 2, 3)
NEW: Final = (4, 5, 6)
MORE: Final = 15
TOPIC: Final = "ledger"
ALONE: Final = dict.fromkeys(("offsets.topic.replication.factor", "transaction.state.log.replication.factor"), "1")


class Migration:
    """A quorum on its way from one program to the other, and the clients of its broker."""

    def __init__(self, quorum: MixedQuorum, clients: Verifiable, load: ConfigLoad) -> None:
        self.quorum = quorum
        self.clients = clients
        self.load = load

    def goes_on(self) -> None:
        """Records and changes of metadata are acknowledged, and a topic can be made."""
        self.clients.wait_for_more(MORE)
        self.load.wait_for(3)

    def follow_the_page(self, heading: str, *, comes: int, goes: int, tool: str) -> None:
        """Every command below this heading, in order: node `comes` for node `goes`."""
        for command in commands(PAGE, heading):
            self._run(words_of(command, self._variables(comes, goes)), comes, goes, tool)

    def _variables(self, comes: int, goes: int) -> dict[str, str]:
        new, old = (goes, comes) if comes in OLD else (comes, goes)
        files = {f"{name}.properties": str(self.quorum.node(node).properties_file)
                 for name, node in (("new", new), ("old", old), ("same", comes))}  # fmt: skip
        ids = {"QUORUM": self.quorum.bootstrap, "CLUSTER_ID": CLUSTER_ID, "OLD": str(old), "NEW": str(new)}
        directories = {"OLD_DIRECTORY": old, "NEW_DIRECTORY": new}
        return files | ids | {
            name: self.quorum.directory_id(node) for name, node in directories.items() if self._has_disk(node)
        }  # fmt: skip

    def _has_disk(self, node_id: int) -> bool:
        return (self.quorum.data(node_id) / "meta.properties").exists()

    def _run(self, words: list[str], comes: int, goes: int, tool: str) -> None:
        name, *arguments = words
        match name, arguments[-1]:
            case "kafka-server-start", _:
                self.quorum.boot(comes)
            case "kafka-server-stop", _:
                self.quorum.stop(goes)
                self.quorum.kinds[comes] = JAVA if self.quorum.kinds[comes] == OURS else OURS
            case "kafka-storage", _:
                self.quorum.node(comes).write_properties()
                self._done(arguments, self.quorum.kinds[comes], name)
            case _, "--replication":
                self._wait_until_level(arguments, comes, tool)
            case _, "add-controller":
                eventually(f"{comes} is added", lambda: self._change(arguments, tool, comes, votes=True), SECONDS)
            case _ if "remove-controller" in arguments:
                eventually(f"{goes} is removed", lambda: self._change(arguments, tool, goes, votes=False), SECONDS)
            case _:
                self._done(arguments, tool, name)

    def _done(self, arguments: list[str], tool: str, name: str = "kafka-metadata-quorum") -> ToolResult:
        said = self.quorum.run(name, arguments, tool)
        assert said.rc == 0, said
        return said

    def _wait_until_level(self, arguments: list[str], node_id: int, tool: str) -> None:
        """As the page wants it: until the tool tells of an end that was the leader's when first asked."""
        said: list[ToolResult] = []
        goals: list[int] = []

        def level() -> bool:
            said.append(self.quorum.run("kafka-metadata-quorum", arguments, tool))
            rows = [line.split() for line in said[-1].out.splitlines()[1:]]
            ends = {int(row[0]): int(row[2]) for row in rows if row}
            goals.extend(int(row[2]) for row in rows if row and row[-1] == "Leader")
            return bool(goals) and ends.get(node_id, -1) >= goals[0]

        try:
            eventually(f"node {node_id} has caught up", level, SECONDS)
        except AssertionError as late:
            raise AssertionError(f"{late}; of {len(said)} answers of {tool} the last was {said[-1]}") from late

    def _change(self, arguments: list[str], tool: str, node_id: int, *, votes: bool) -> bool:
        """Asked again after what the page says is to be asked again, and looked at after what may have been done."""
        said = self.quorum.run("kafka-metadata-quorum", arguments, tool)
        known = ("TimeoutException", "DuplicateVoterException", "VoterNotFoundException")
        assert said.rc == 0 or any(name in said.err for name in known), said
        return (node_id in self.quorum.voters()) == votes


@contextmanager
def migration(directory: Path, kinds: str, spares: str, *, static: bool = False) -> Iterator[Migration]:
    with ExitStack() as stack:
        quorum = stack.enter_context(MixedQuorum(directory, kinds, spares=spares, static=static, brokers=1))
        quorum.node(BROKER).properties |= SMALL | ALONE
        quorum.format([*OLD, BROKER])
        for node_id in OLD:
            quorum.boot(node_id)
        quorum.leader()
        quorum.boot(BROKER, JAVA)
        servers = quorum.cluster.bootstrap_servers
        eventually("the broker serves", lambda: STARTED in quorum.java_log(BROKER).read_text(errors="replace"), SECONDS)
        make_topic(servers, TOPIC)
        clients = stack.enter_context(Verifiable(directory, servers, TOPIC))
        yield Migration(quorum, clients, ConfigLoad(quorum.bootstrap, writers=1, pause_s=0.05))


def make_topic(servers: str, name: str) -> None:
    """By a client of the broker, which forwards it to the controller that leads now."""
    admin = AdminClient({"bootstrap.servers": servers})  # a name of its own: its requests end with it
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(SECONDS)


def judge(story: Migration, sampled: Callable[[str], None], what: str) -> None:
    lost, pause, count = story.clients.lost(), story.clients.longest_pause_ms(), len(story.clients.acknowledged())
    assert story.clients.failed() == []
    assert lost == set()
    compared = assert_nothing_is_lost(story.quorum, story.load)
    sampled(f"{what}: {count} records acknowledged, longest pause {pause} ms; {len(story.load.names)} changes of "
            f"metadata, {compared} batches alike")  # fmt: skip


def outlives_its_leader(story: Migration) -> None:
    """kill -9, in the middle of the way: two voters are of one kind, one of the other."""
    leader = story.quorum.leader()
    story.quorum.kill(leader)
    story.goes_on()
    story.quorum.boot(leader)
    story.quorum.wait_until_following()


def leader_last(quorum: MixedQuorum) -> list[int]:
    return sorted(quorum.voters(), key=lambda voter: voter == quorum.leader())


@pytest.mark.timeout(1800)
def test_new_voters_take_over_and_the_old_ones_come_back(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """3 voters, 4, 3: never fewer. The leader is killed both ways; on the way back one of the old disks is gone."""
    tools = chosen(run_seed, (OURS, JAVA), 2)
    with migration(tmp_path, JAVA * 3, OURS * 3) as story:
        quorum, servers = story.quorum, story.quorum.cluster.bootstrap_servers
        for command in commands(PAGE, "Before you begin"):
            said = quorum.run(*named(words_of(command, {"QUORUM": quorum.bootstrap})), tools[0])
            assert said.rc == 0, said
        with story.load:
            story.goes_on()
            for goes, comes in zip(leader_last(quorum), NEW, strict=True):
                story.follow_the_page("New voters", comes=comes, goes=goes, tool=tools[comes % 2])
                quorum.stop(goes)
                story.goes_on()
                make_topic(servers, f"made-after-{goes}-went")
                if comes == NEW[1]:
                    outlives_its_leader(story)
            assert quorum.voters() == set(NEW)
            assert quorum.kinds[quorum.leader()] == OURS
            lost = chosen(run_seed, OLD, 1)[0]
            quorum.lose_disk(lost)
            for comes, goes in zip(OLD, NEW, strict=True):
                if comes == lost:
                    quorum.format_anew(comes)
                story.follow_the_page("And back", comes=comes, goes=goes, tool=tools[comes % 2])
                quorum.stop(goes)
                story.goes_on()
                make_topic(servers, f"made-after-{goes}-went")
                if comes == OLD[0]:
                    outlives_its_leader(story)
            assert quorum.voters() == set(OLD)
            assert quorum.kinds[quorum.leader()] == JAVA
        judge(story, sampled, "Java's voters to ours and back, one by one")


@pytest.mark.timeout(1800)
def test_either_program_takes_over_the_disks_of_the_other(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """On voters that are written in the log, or on those of the configuration."""
    static = chosen(run_seed, (False, True), 1)[0]
    with migration(tmp_path, JAVA * 3, "", static=static) as story:
        quorum, servers = story.quorum, story.quorum.cluster.bootstrap_servers
        before = {node_id: quorum.directory_id(node_id) for node_id in OLD}
        with story.load:
            story.goes_on()
            for kind in (OURS, JAVA):
                for node_id in leader_last(quorum):
                    story.follow_the_page("Same disks", comes=node_id, goes=node_id, tool=kind)
                    story.goes_on()
                    make_topic(servers, f"made-after-{node_id}-became-{kind}")
                assert {quorum.kinds[node_id] for node_id in OLD} == {kind}
            assert {node_id: quorum.directory_id(node_id) for node_id in OLD} == before
        judge(story, sampled, f"Java's disks to ours and back, {'static' if static else 'dynamic'} voters")


def named(words: list[str]) -> tuple[str, list[str]]:
    return words[0], words[1:]
