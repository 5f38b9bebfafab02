"""What may go wrong, one function per kind: it gets the running schedule and its own dice, and hits mostly the leader,
where damage is greatest.

What would break the protocol's own assumptions is left out, and says why: a voter's disk is replaced only while every
voter set that any node knows keeps a majority of its disks, and an older copy is restored only to a node that never
voted (nothing in Raft survives a voter that forgets).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

from controller_runtime.parts.events import ShutdownRequested
from controller_runtime.raft.roles import Follower, Leader

if TYPE_CHECKING:
    from support.simulation.machine import Machine
    from support.simulation.schedule import Schedule

Fault = Callable[["Schedule", Random], None]


def any_up(schedule: Schedule, rng: Random) -> Machine | None:
    up = schedule.world.up
    leaders = [machine for machine in up if machine.node is not None and machine.node.is_active]
    if not up:
        return None
    return rng.choice(leaders) if leaders and rng.random() < 0.5 else rng.choice(up)


# Processes.


def kill(schedule: Schedule, rng: Random, *, power_loss: bool = False) -> None:
    machine = any_up(schedule, rng)
    if machine is not None:
        end(schedule, rng, machine, power_loss=power_loss, down_s=rng.choice((0.001, 0.1, 1.0, 4.0)) * rng.random())


def end(schedule: Schedule, rng: Random, machine: Machine, *, power_loss: bool, down_s: float) -> None:
    """Now, or in the middle of the next write: there it can do more."""

    def end_now() -> None:
        schedule.world.kill(machine.id, power_loss=power_loss)
        schedule.boot_later(machine.id, down_s)

    if rng.random() < 0.5:
        machine.on_write = end_now
    else:
        end_now()


def lose_power(schedule: Schedule, rng: Random) -> None:
    kill(schedule, rng, power_loss=True)


def kill_all(schedule: Schedule, rng: Random) -> None:
    for machine in schedule.world.up:
        end(schedule, rng, machine, power_loss=rng.random() < 0.7, down_s=rng.uniform(0, 2.0))


def pause(schedule: Schedule, rng: Random) -> None:
    machine = any_up(schedule, rng)
    if machine is not None:
        schedule.world.pause(machine.id, rng.choice((0.1, 1.0, 5.0)) * rng.random())


def shut_down(schedule: Schedule, rng: Random) -> None:
    machine = any_up(schedule, rng)
    if machine is not None:
        schedule.world.trace(f"n{machine.id} is asked to stop")
        machine.feed(ShutdownRequested())
        schedule.boot_later(machine.id, rng.uniform(0.2, 4.0))


# Clocks.


def jump_clock(schedule: Schedule, rng: Random) -> None:
    machine = any_up(schedule, rng)
    if machine is not None:
        schedule.world.jump_clock(machine.id, rng.choice((0.5, 3.0, 60.0)) * rng.random())


def drift_clock(schedule: Schedule, rng: Random) -> None:
    machine = any_up(schedule, rng)
    if machine is not None:
        schedule.world.drift_clock(machine.id, rng.choice((0.5, 0.8, 1.3, 2.0)))


# The network.


def partition(schedule: Schedule, rng: Random) -> None:
    """A random set of directed links is cut for a while; often one node entirely."""
    nodes = schedule.world.fleet.everybody
    network = schedule.world.network
    network.cut.clear()
    match rng.randrange(4):
        case 0:
            victim = any_up(schedule, rng)
            network.isolate(victim.id if victim else rng.choice(nodes), nodes)
        case 1:
            side = {node for node in nodes if rng.random() < 0.5}
            network.cut |= {(a, b) for a in nodes for b in nodes if (a in side) != (b in side)}
        case 2:
            network.cut |= {(a, b) for a in nodes for b in nodes if a != b and rng.random() < 0.3}
        case _:
            deaf = rng.choice(nodes)
            network.cut |= {(a, deaf) for a in nodes} if rng.random() < 0.5 else {(deaf, a) for a in nodes}
    if schedule.world.tracer is not None:
        schedule.world.trace(f"links cut: {sorted(network.cut)}")
    schedule.world.later(rng.choice((0.3, 1.0, 4.0)) * rng.random(), network.cut.clear)


def strand_leader(schedule: Schedule, rng: Random) -> None:
    """The leader is cut off from the nodes, not from clients that do not wait for answers: its log outgrows that of its
    successor.

    When there is one, and it has committed something, it ends or is cut off in turn: now the one that was deposed may
    stand again.
    """
    world = schedule.world
    leader = next((machine for machine in world.up if machine.node is not None and machine.node.is_active), None)
    if leader is None or leader.node is None or len(leader.node.meta.replica.voters) < 3:
        return
    world.trace(f"n{leader.id} is cut off from the other nodes, not from clients")
    world.network.isolate(leader.id, world.fleet.nodes)
    schedule.client.stray(leader.id, rng.choice((3, 6, 12)))
    _strand_successor(schedule, rng, leader.node.meta.replica.epoch)


def _strand_successor(schedule: Schedule, rng: Random, deposed: int) -> None:
    world = schedule.world
    if not schedule.is_safety_phase:
        return
    for machine in world.up:
        assert machine.node is not None
        role = machine.node.meta.replica.role
        if isinstance(role, Leader) and role.epoch > deposed and role.high_watermark is not None:
            world.network.cut.clear()
            if rng.random() < 0.5:
                end(schedule, rng, machine, power_loss=False, down_s=1.0 + rng.random())
            else:
                world.network.isolate(machine.id, world.fleet.nodes)
            return
    world.later(0.004, lambda: _strand_successor(schedule, rng, deposed))


def lose_messages(schedule: Schedule, rng: Random) -> None:
    schedule.world.network.loss = rng.choice((0.0, 0.02, 0.1, 0.3))


def double_messages(schedule: Schedule, rng: Random) -> None:
    schedule.world.network.duplication = rng.choice((0.0, 0.1, 0.5))


def delay_messages(schedule: Schedule, rng: Random) -> None:
    schedule.world.network.slow = rng.choice((0.0, 0.05, 0.3))


def replay_messages(schedule: Schedule, rng: Random) -> None:
    """Some of what nodes asked and answered earlier in this schedule arrives again."""
    schedule.world.network.memory.replay(rng.choice((1, 5, 20)))


def delay_votes(schedule: Schedule, rng: Random) -> None:
    """Answers to votes come when the candidate stands in a later epoch."""
    schedule.world.late_votes = rng.choice((0.0, 0.5, 1.0))


def end_source_of_snapshot(schedule: Schedule, rng: Random) -> None:
    """The leader ends when somebody has fetched a part of a snapshot from it: for a while this waits for one."""
    if not schedule.is_safety_phase:
        return
    for machine in schedule.world.up:
        assert machine.node is not None
        role = machine.node.meta.replica.role
        if isinstance(role, Follower) and role.snapshot is not None and role.snapshot.position > 0:
            leader = schedule.world.machines[role.leader_id]
            if leader.is_up:
                schedule.world.kill(leader.id, power_loss=rng.random() < 0.3)
                schedule.boot_later(leader.id, rng.uniform(0.1, 0.5))
                return
    schedule.world.later(0.004, lambda: end_source_of_snapshot(schedule, rng))


# Disks.


def slow_disk(schedule: Schedule, rng: Random) -> None:
    """From now on some writes and syncs of this machine, or of all, take up to three seconds."""
    world = schedule.world
    nodes = [rng.choice(world.fleet.everybody)] if rng.random() < 0.7 else list(world.fleet.everybody)
    for node in nodes:
        world.slow_disk[node] = rng.choice((0.0, 0.1, 0.5))


def fail_sync(schedule: Schedule, rng: Random) -> None:
    """One of the next syncs fails and loses what it should have kept: the process must end."""
    machine = any_up(schedule, rng)
    if machine is not None:
        machine.disk.failing_sync = rng.randrange(4)


def fill_disk(schedule: Schedule, rng: Random) -> None:
    machine = any_up(schedule, rng)
    if machine is not None:
        machine.disk.is_full = True


def lose_disk(schedule: Schedule, rng: Random) -> None:
    """A voter's machine ends for ever, and comes back with a new disk and a new directory id: it must be removed and
    added.
    """
    machine = any_up(schedule, rng)
    if machine is None or not schedule.may_lose(machine):
        return
    schedule.world.kill(machine.id, power_loss=True)
    schedule.world.trace(f"n{machine.id} gets a new disk")
    machine.replace_disk()
    schedule.boot_later(machine.id, rng.choice((0.05, 0.5, 2.0)) * rng.random())


def rot_bits(schedule: Schedule, rng: Random) -> None:
    """A bit of a closed segment turns over. The node may go on, or find it at its next start and refuse: then its disk
    is replaced.
    """
    machine = any_up(schedule, rng)
    if machine is not None and schedule.may_lose(machine) and machine.rot(rng):
        schedule.world.trace(f"n{machine.id}: a bit of a closed segment turns over")


def back_up(schedule: Schedule, rng: Random) -> None:
    """Copy the disk of a node that never voted; when there is a copy already, restore it."""
    for node in schedule.world.fleet.observers:
        machine = schedule.world.machines[node]
        if node in schedule.ever_voters:
            continue
        found = schedule.backups.get(node)
        if found is None or found[0] != machine.generation:
            schedule.backups[node] = (machine.generation, machine.disk.copy())
            continue
        if machine.is_up:
            schedule.world.kill(node, power_loss=False)
        schedule.world.trace(f"n{node} gets an older copy of its disk")
        machine.restore(found[1])
        schedule.boot_later(node, rng.random())


# The quorum's voters.


def change_voters(schedule: Schedule, rng: Random) -> None:
    """Whoever runs the quorum asks for a change now: add an observer, remove a voter, replace a lost disk."""
    schedule.operator.act(rng)


ROT: Final = "bit rot"
"""In schedules of its own only (`plan.rotting_plan`): a disk must have been at work for long before it has closed
segments.
"""

STRANDED: Final = "stranded leader"

FAULTS: Final[dict[str, Fault]] = {
    "kill": kill,
    "power loss": lose_power,
    "all killed": kill_all,
    "pause": pause,
    "shutdown": shut_down,
    "clock jump": jump_clock,
    "clock drift": drift_clock,
    "partition": partition,
    STRANDED: strand_leader,
    "loss": lose_messages,
    "doubles": double_messages,
    "delays": delay_messages,
    "replay": replay_messages,
    "late votes": delay_votes,
    "source of a snapshot": end_source_of_snapshot,
    "slow disk": slow_disk,
    "failing sync": fail_sync,
    "full disk": fill_disk,
    "lost disk": lose_disk,
    "older copy": back_up,
    ROT: rot_bits,
    "voters": change_voters,
}

LATE_FAULTS: Final = frozenset({STRANDED, "replay", "source of a snapshot", "older copy", "voters", "lost disk"})
"""There is nothing to do for them in the first moments."""


def heal(schedule: Schedule) -> None:
    """All faults end; what was lost stays lost."""
    world = schedule.world
    world.network.heal()
    world.network.memory.share = 0.0
    world.slow_disk.clear()
    world.late_votes = 0.0
    for machine in world.machines.values():
        machine.disk.failing_sync = None
        machine.disk.is_full = False
        machine.on_write = None
        machine.paused_until = min(machine.paused_until, world.time)
        if machine.rate != 1.0:
            world.drift_clock(machine.id, 1.0)
        machine.resume()
