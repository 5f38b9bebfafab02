"""A dialogue with a quorum of bare replicas, for scripts under tests/unit/raft/testdata (style R6).

Nothing happens by itself: messages wait until `deliver`, time passes by `elapse`, disks obey `flush` unless they are
fast. Every effect is printed with the renderer of `raft.render`. Jitter is fixed per node, so that timers are known:
node n draws n/10.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from controller_runtime.identifiers import (
    DirectoryId,
    Endpoint,
    Epoch,
    Instant,
    NodeId,
    Offset,
    ReplicaKey,
    Uuid,
)
from controller_runtime.raft import effects as e
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import (
    CallEnded,
    Failure,
    Flushed,
    LeaderAppend,
    RaftEvent,
    RequestArrived,
    Resign,
    ResponseArrived,
    Shutdown,
    Tick,
    UpgradeKRaftVersion,
)
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchResponse,
    KRaftVersion,
    LogBatch,
    QuorumResponse,
    RaftError,
    RemoveVoterRequest,
    Request,
    Response,
    UpdateVoterRequest,
)
from controller_runtime.raft.render import render_effect, render_request, render_response
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET, Voter, VoterHistory, VoterSet

LISTENER = "CONTROLLER"
CLIENT = 0
"""Who asks for changes of the voters."""


def directory(node: int, generation: int = 0) -> DirectoryId:
    return DirectoryId(Uuid.of(7 + generation, node))


def endpoint(node: int) -> Endpoint:
    return Endpoint(f"n{node}", 9093)


@dataclass
class Sent:
    source: int
    target: int
    call: int
    request: Request | None = None
    response: Response | None = None

    def __str__(self) -> str:
        what = render_request(self.request) if self.request else render_response(self.response)  # type: ignore[arg-type]
        return f"{self.source}->{self.target} {what}"


@dataclass
class Node:
    id: int
    log: list[int] = field(default_factory=list)
    """The epoch of each record."""
    controls: dict[int, e.AppendControl] = field(default_factory=dict)
    replica: Replica | None = None
    saved: ElectionState | None = None
    flushed: int = 0
    tokens: dict[int, tuple[int, int]] = field(default_factory=dict)
    slow_disk: bool = False
    host: str = ""
    """Where it is reached, if that is not what the voters say."""
    generation: int = 0
    """How often its disk was replaced."""
    auto_join: bool = False
    bootstrap: VoterSet | None = None
    """The voters of its bootstrap snapshot, if they are not those of all."""
    formatted: bool = True
    """With the initial voters, if it is one."""
    levels: tuple[int, int] | None = (0, 1)
    """The levels of kraft.version that its process tells when it is asked."""

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(NodeId(self.id), directory(self.id, self.generation))


class Script:
    """Runs one command at a time and says what it caused."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.now = Instant(100.0)
        self.wire: list[Sent] = []
        self.lines: list[str] = []
        self.voters = VoterSet(())
        self.dynamic = False
        self._token = 0

    def run(self, command: str) -> str:
        name, *words = command.split()
        self.lines = []
        getattr(self, f"do_{name.replace('-', '_')}")(*words)
        return "\n".join(self.lines) or "ok"

    # Commands.

    def do_voters(self, *logs: str) -> None:
        """`voters 5@2 5@2 3@1+9@2`: a log per voter, as ends of epochs; `voters dynamic …` takes them from a bootstrap
        snapshot.
        """
        self.dynamic = logs[0] == "dynamic"
        ends = logs[1:] if self.dynamic else logs
        count = len(ends)
        self.voters = VoterSet.of(self._voter(n) for n in range(1, count + 1))
        for n, text in enumerate(ends, start=1):
            self.nodes[n] = self._made(n, text)

    def do_bootstrap(self, node: str, voters: str) -> None:
        """`bootstrap 3 1,3`: the bootstrap snapshot of node 3 names other voters than those of the others."""
        self.nodes[int(node)].bootstrap = VoterSet.of(self._voter(int(v)) for v in voters.split(","))

    def do_status(self, node: str) -> None:
        """What metrics tell of it."""
        replica = self.nodes[int(node)].replica
        assert replica is not None
        s = replica.status(self.now)
        voted = "-" if s.voted is None else s.voted.node_id
        self.lines.append(
            f"{node} {s.state} voted={voted} voters={s.voters} observers={s.observers} "
            f"uncommitted-voter-change={s.uncommitted_voter_change} ignores-static={s.ignores_static_voters}"
        )

    def do_observer(self, node: str, *words: str) -> None:
        """`observer 4`, `observer 4 joins` (KIP-1186), `observer 4 levels=0-0`."""
        made = self.nodes[int(node)] = self._made(int(node), "0@0")
        made.auto_join = "joins" in words
        for word in words:
            if word.startswith("levels="):
                low, _, high = word.removeprefix("levels=").partition("-")
                made.levels = (int(low), int(high)) if high else None

    def do_new_disk(self, node: str, *words: str) -> None:
        """The machine of a dead node gets an empty disk, formatted anew: with another directory id, and knowing no
        voters.
        """
        old = self.nodes[int(node)]
        self.nodes[old.id] = Node(old.id, generation=old.generation + 1, auto_join="joins" in words, formatted=False)

    def do_add(self, node: str, *words: str) -> None:
        """`add 4 at 1`: a client asks node 1 to make node 4 a voter; `early`, `listener=X`, `directory=none`,
        `directory=9` change it.
        """
        target = int(words[words.index("at") + 1])
        told = dict(word.split("=") for word in words if "=" in word)
        key = self._named(int(node), told.get("directory"))
        voter = Voter(key, ((told.get("listener", LISTENER), endpoint(int(node))),))
        self._ask(target, AddVoterRequest(voter, "early" not in words))

    def do_remove(self, node: str, *words: str) -> None:
        """`remove 3 at 1`, with `directory=` as for `add`."""
        target = int(words[words.index("at") + 1])
        told = dict(word.split("=") for word in words if "=" in word)
        self._ask(target, RemoveVoterRequest(self._named(int(node), told.get("directory"))))

    def do_update(self, node: str, *words: str) -> None:
        """`update 3 at 1`: somebody says what voter 3 is, with `epoch=`, `listener=`, `directory=`, `levels=`."""
        target = self.nodes[int(words[words.index("at") + 1])]
        assert target.replica is not None
        told = dict(word.split("=") for word in words if "=" in word)
        low, _, high = told.get("levels", "0-1").partition("-")
        key = self._named(int(node), told.get("directory"))
        listeners = ((told.get("listener", LISTENER), endpoint(int(node))),)
        epoch = Epoch(int(told.get("epoch", target.replica.epoch)))
        self._ask(target.id, UpdateVoterRequest(epoch, Voter(key, listeners, int(low), int(high))))

    def do_upgrade(self, node: str, level: str) -> None:
        """The application of the leader raises kraft.version."""
        leader = self.nodes[int(node)]
        assert leader.replica is not None
        fault = leader.replica.upgrade_fault(int(level))
        if fault is None:
            self._step(leader, UpgradeKRaftVersion(leader.replica.epoch, int(level)))
        else:
            self.lines.append(f"{node} refuses: {fault}")

    def _named(self, node: int, said: str | None) -> ReplicaKey:
        if said == "none":
            return ReplicaKey(NodeId(node))
        if said is not None:
            return ReplicaKey(NodeId(node), directory(node, int(said)))
        return self.nodes[node].key if node in self.nodes else ReplicaKey(NodeId(node), directory(node))

    def _ask(self, target: int, request: Request) -> None:
        """A request of a client: its answer is shown and reaches nobody."""
        self._token += 1
        self.nodes[target].tokens[self._token] = (CLIENT, 0)
        self._step(self.nodes[target], RequestArrived(self._token, request))

    def do_saved(self, node: str, *words: str) -> None:
        """`saved 1 epoch=3 leader=1 voted=1`: what quorum-state says before the start."""
        told = dict(word.split("=") for word in words)
        voted = ReplicaKey(NodeId(int(told["voted"]))) if "voted" in told else None
        leader = NodeId(int(told["leader"])) if "leader" in told else None
        self.nodes[int(node)].saved = ElectionState(Epoch(int(told["epoch"])), leader, voted, int(self.dynamic))

    def do_start(self, *nodes: str) -> None:
        for n in [int(node) for node in nodes] or sorted(self.nodes):
            self._start(self.nodes[n])

    def do_elapse(self, ms: str) -> None:
        """Let time pass; timers that are due fire in order."""
        until = Instant(self.now + int(ms) / 1000)
        while True:
            due = [
                (at, n)
                for n, node in sorted(self.nodes.items())
                if node.replica and (at := node.replica.next_deadline()) is not None and at <= until
            ]
            if not due:
                break
            at, n = min(due)
            self.now = max(self.now, at)
            self._step(self.nodes[n], Tick())
        self.now = until

    def do_run(self, ms: str) -> None:
        """Time passes and everything arrives; only what is written, led and answered is shown."""
        until = Instant(self.now + int(ms) / 1000)
        while self.now < until:
            self._deliver(list(self.wire))
            self.do_elapse("10")
        self.lines = [line for line in self.lines if "->" not in line or "->client" in line or "Voter" in line]

    def do_deliver(self, *links: str) -> None:
        """What is on the wire now arrives; what that causes waits. `deliver all` goes on until nothing is
        on its way.
        """
        if links == ("all",):
            for _ in range(30):
                if not self.wire:
                    break
                self._deliver(list(self.wire))
            return
        self._deliver([sent for sent in self.wire if not links or f"{sent.source}->{sent.target}" in links])

    def do_lose(self, *links: str) -> None:
        """Messages on these links are lost; whoever asked gives up."""
        for sent in [sent for sent in self.wire if not links or f"{sent.source}->{sent.target}" in links]:
            self.wire.remove(sent)
            asker = sent.source if sent.request else sent.target
            self._end_call(asker, sent.call, Failure.TIMED_OUT)

    def do_kill(self, node: str) -> None:
        """The process ends: what was not flushed is gone, and its peers' connections end."""
        dead = self.nodes[int(node)]
        dead.replica = None
        del dead.log[dead.flushed :]
        for sent in [sent for sent in self.wire if dead.id in (sent.source, sent.target)]:
            self.wire.remove(sent)
            asker = sent.source if sent.request else sent.target
            if asker != dead.id:
                self._end_call(asker, sent.call, Failure.DISCONNECTED)
        for asker, call in [asked for asked in dead.tokens.values() if asked[0] != CLIENT]:
            self._end_call(asker, call, Failure.DISCONNECTED)
        dead.tokens.clear()

    def do_append(self, node: str, count: str = "1") -> None:
        """The application of the leader writes records, one batch each."""
        leader = self.nodes[int(node)]
        assert leader.replica is not None
        epoch = leader.replica.epoch
        batches = []
        for _ in range(int(count)):
            at = len(leader.log)
            leader.log.append(epoch)
            batches.append(LogBatch(Offset(at), Offset(at + 1), epoch, b""))
        self._step(leader, LeaderAppend(epoch, tuple(batches)))

    def do_move(self, node: str, host: str) -> None:
        """From its next start on the node is reached elsewhere."""
        self.nodes[int(node)].host = host

    def do_slow_disk(self, *nodes: str) -> None:
        for n in nodes:
            self.nodes[int(n)].slow_disk = True

    def do_flush(self, *nodes: str) -> None:
        for n in nodes:
            self._flush(self.nodes[int(n)])

    def do_resign(self, node: str) -> None:
        target = self.nodes[int(node)]
        assert target.replica is not None
        self._step(target, Resign(target.replica.epoch))

    def do_shutdown(self, node: str) -> None:
        self._step(self.nodes[int(node)], Shutdown())

    def do_state(self) -> None:
        for n, node in sorted(self.nodes.items()):
            if node.replica is None:
                self.lines.append(f"{n} down")
                continue
            r = node.replica
            hw = "?" if r.high_watermark is None else r.high_watermark
            leader = "-" if r.leader_id is None else r.leader_id
            self.lines.append(
                f"{n} {type(r.role).__name__} epoch={r.epoch} leader={leader} "
                f"log={self._ends(node)} disk={node.flushed} hw={hw}"
            )

    def do_voters_of(self, *nodes: str) -> None:
        """Who votes, as these nodes know it."""
        for n in nodes:
            replica = self.nodes[int(n)].replica
            assert replica is not None
            told = ", ".join(
                f"{v.key.node_id}@{','.join(f'{name}={at}' for name, at in v.listeners)}" for v in replica.voters.voters
            )
            self.lines.append(f"{n} kraft.version={replica.voter_history.kraft_version} voters: {told}")

    def do_wire(self) -> None:
        self.lines += [str(sent) for sent in self.wire]

    # How it works.

    def _voter(self, n: int) -> Voter:
        listeners = ((LISTENER, endpoint(n)),)
        if self.dynamic:
            return Voter(ReplicaKey(NodeId(n), directory(n)), listeners, 0, 1)
        return Voter(ReplicaKey(NodeId(n)), listeners)

    def _made(self, n: int, text: str) -> Node:
        node = Node(n)
        for part in text.split("+"):
            end, epoch = part.split("@")
            node.log += [int(epoch)] * (int(end) - len(node.log))
        node.flushed = len(node.log)
        return node

    def _ends(self, node: Node) -> str:
        parts = [
            f"{i + 1}@{epoch}" for i, epoch in enumerate(node.log) if i + 1 == len(node.log) or node.log[i + 1] != epoch
        ]
        return "+".join(parts) or "empty"

    def _start(self, node: Node) -> None:
        starts: list[tuple[Epoch, Offset]] = []
        for at, epoch in enumerate(node.log):
            if not starts or starts[-1][0] != epoch:
                starts.append((Epoch(epoch), Offset(at)))
        end = Offset(len(node.log))
        history = VoterHistory() if self.dynamic else VoterHistory(self.voters)
        if self.dynamic and node.id in self.voters.ids and node.formatted:
            history.reset(BOOTSTRAP_OFFSET, 1, node.bootstrap or self.voters)
        for base, control in sorted(node.controls.items()):
            if base < end:
                for index, record in enumerate(control.records):
                    if isinstance(record, VoterSet):
                        history.add_voters(Offset(base + index), record)
                    elif isinstance(record, KRaftVersion):
                        history.add_version(Offset(base + index), record.level)
        config = RaftConfig(
            NodeId(node.id),
            node.key.directory_id,
            LISTENER,
            ((LISTENER, Endpoint(node.host, 9093) if node.host else endpoint(node.id)),),
            bootstrap=tuple(endpoint(v) for v in self.voters.ids),
            auto_join=node.auto_join,
        )
        jitter = node.id / 10
        node.replica = Replica(
            config, node.saved, LogView(Offset(0), end, end, starts), history, self.now, lambda: jitter
        )
        self._perform(node, node.replica.start(self.now))

    def _step(self, node: Node, event: RaftEvent) -> None:
        if node.replica is not None:
            self._perform(node, node.replica.step(event, self.now))

    def _perform(self, node: Node, effects: list[e.RaftEffect]) -> None:
        appended = False
        for effect in effects:
            self._show(node, effect)
            match effect:
                case e.SaveElection(state):
                    node.saved = state
                case e.Append(batches):
                    for batch in batches:
                        node.log += [batch.epoch] * (batch.end_offset - batch.base_offset)
                        if batch.control:
                            told = tuple(record for _, record in batch.control)
                            node.controls[batch.base_offset] = e.AppendControl(batch.base_offset, batch.epoch, told)
                        appended = True
                case e.AppendControl(base, epoch, records):
                    node.controls[base] = effect
                    node.log += [epoch] * len(records)
                    appended = True
                case e.Truncate(end):
                    del node.log[end:]
                    node.flushed = min(node.flushed, end)
                case e.Send(call, _, to, at, request):
                    target = to if to is not None else int(at.host[1:])
                    self.wire.append(Sent(node.id, int(target), call, request=request))
                case e.Abandon(call):
                    self.wire = [
                        s for s in self.wire if (s.source if s.request else s.target, s.call) != (node.id, call)
                    ]
                case e.Reply(token, response):
                    self._answer(node, token, response)
                case e.ReplyRecords(token, response, offset):
                    self._answer(node, token, self._with_records(node, response, offset))
                case _:
                    pass
        if (appended or len(node.log) > node.flushed) and not node.slow_disk:
            self._flush(node)

    def _flush(self, node: Node) -> None:
        if node.flushed != len(node.log):
            node.flushed = len(node.log)
            self._step(node, Flushed(Offset(node.flushed)))

    def _show(self, node: Node, effect: e.RaftEffect) -> None:
        match effect:
            case e.Send(_, _, to, _, request) if to is not None:
                self.lines.append(f"{node.id}->{to} {render_request(request)}")
            case e.Reply(token, response) | e.ReplyRecords(token, response):
                asker = node.tokens[token][0]
                self.lines.append(f"{node.id}->{'client' if asker == CLIENT else asker} {render_response(response)}")
            case e.Abandon():
                pass
            case _:
                self.lines.append(f"{node.id} {render_effect(effect)}")

    def _with_records(self, node: Node, response: FetchResponse, offset: int) -> FetchResponse:
        batches = []
        at = offset
        while at < len(node.log):
            control = node.controls.get(at)
            control = control if control and control.epoch == node.log[at] else None
            end = at + len(control.records) if control else at + 1
            told = tuple((Offset(at + i), record) for i, record in enumerate(control.records)) if control else ()
            batches.append(LogBatch(Offset(at), Offset(end), Epoch(node.log[at]), b"", told))
            at = end
        return replace(response, batches=tuple(batches))

    def _answer(self, node: Node, token: int, response: Response) -> None:
        asker, call = node.tokens.pop(token)
        if asker == CLIENT:
            return
        if isinstance(response, QuorumResponse) and node.replica is not None:  # The border says where the leader is.
            response = replace(response, leader_endpoint=node.replica.leader_endpoint(LISTENER))
        self.wire.append(Sent(node.id, asker, call, response=response))

    def _deliver(self, batch: list[Sent]) -> None:
        for sent in batch:
            if sent not in self.wire:
                continue
            self.wire.remove(sent)
            target = self.nodes.get(sent.target)
            if sent.response is not None:
                if target is not None:
                    self._step(target, ResponseArrived(sent.call, sent.response))
            elif target is None or target.replica is None:
                self._end_call(sent.source, sent.call, Failure.REFUSED)
            elif isinstance(sent.request, ApiVersionsRequest):
                self.wire.append(
                    Sent(
                        sent.target, sent.source, sent.call, response=ApiVersionsResponse(RaftError.NONE, target.levels)
                    )
                )
            elif sent.request is not None:
                self._token += 1
                target.tokens[self._token] = (sent.source, sent.call)
                self._step(target, RequestArrived(self._token, sent.request))

    def _end_call(self, asker: int, call: int, why: Failure) -> None:
        self._step(self.nodes[asker], CallEnded(call, why))
