"""Histories of faults on real processes: three brokers in networks and on disks of their own are killed, frozen, cut
off and run out of disk, while a queue is written and a bank carries out what it says. Then both are audited.

`plan` (pure) draws what happens, `machines` are the processes and what can befall them, `clients` write and read,
a `banker` carries out (all librdkafka), `verdict` (pure) says what is wrong with what was found. Beside the tests:

    python -m support.fault_histories --histories 200 --seed 1
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Final

from support.fault_histories.banker import Banker
from support.fault_histories.clients import Auditor, Writer, make_topics
from support.fault_histories.machines import Machines
from support.fault_histories.plan import Fault, Step, drawn
from support.fault_histories.verdict import complaints

_QUIET_S: Final = 1.0
"""Before the first fault and after the last."""
PROTOCOLS: Final = ("classic", "consumer")
TOLD_BY_ONE_CLUSTER: Final = 10


@dataclass(frozen=True, slots=True)
class Told:
    seed: int
    steps: tuple[Step, ...]
    orders: int
    replaced: int
    """Bankers whose client hung."""
    seconds: float
    complaints: list[str]

    def __str__(self) -> str:
        steps = ", ".join(map(str, self.steps))
        said = "; ".join(self.complaints) or "nothing is wrong"
        replaced = f", {self.replaced} bankers replaced" if self.replaced else ""
        return f"history {self.seed}: {steps}; {self.orders} orders, {self.seconds:.0f} s{replaced}: {said}"


def tell(machines: Machines, seed: int) -> Told:
    begun, servers = time.monotonic(), machines.bootstrap_servers
    queue, accounts, steps = f"queue-{seed}", f"accounts-{seed}", drawn(seed)
    make_topics(servers, queue, accounts)
    with ExitStack() as stack:
        protocol = PROTOCOLS[seed % len(PROTOCOLS)]
        bankers = [
            Banker(machines.directory / f"banker-{seed}-{name}.log", servers, queue, accounts, name, protocol)
            for name in ("a", "b")
        ]
        still_there = stack.enter_context(ExitStack())
        for banker in bankers:
            still_there.callback(banker.stop)
        auditor = Auditor(servers, queue, accounts)
        stack.callback(auditor.close)
        writer = Writer(servers, queue)
        try:
            time.sleep(_QUIET_S)
            happen(machines, steps)
            time.sleep(_QUIET_S)
        finally:
            machines.mend()
            writer.stop()
        auditor.wait_until_done(len(writer.acknowledged))
        still_there.close()
        found = auditor.all_of_it()
    wrong = [f"the producer failed: {each}" for each in writer.failed[:3]]
    wrong += complaints(writer.acknowledged, found)
    replaced = sum(banker.replaced for banker in bankers)
    return Told(seed, steps, len(writer.acknowledged), replaced, time.monotonic() - begun, wrong)


def happen(machines: Machines, steps: Iterable[Step]) -> None:
    """Faults may be there at the same time; who is mended is mended of all that befell it."""
    now, over, begins = time.monotonic(), list[tuple[float, int]](), time.monotonic()
    for step in steps:
        _wait(machines, over, begins)
        befall(machines, step)
        now = time.monotonic()
        for node in {step.node, step.other} - {0}:
            heappush(over, (now + step.seconds, node))
        begins = max(now, now + step.seconds + step.rest)
    while over:
        _wait(machines, over, over[0][0])


def _wait(machines: Machines, over: list[tuple[float, int]], until: float) -> None:
    """What is over by then is mended at its time."""
    while over and over[0][0] <= until:
        at, node = heappop(over)
        time.sleep(max(0.0, at - time.monotonic()))
        machines.each[node].mend()
    time.sleep(max(0.0, until - time.monotonic()))


def befall(machines: Machines, step: Step) -> None:
    machine = machines.each[step.node]
    match step.fault:
        case Fault.KILL:
            machine.kill()
        case Fault.FREEZE:
            machine.freeze()
        case Fault.CUT:
            machine.cut()
        case Fault.CUT_FROM:
            machine.cut_from(machines.each[step.other])
        case Fault.FILL:
            machine.fill()


def tell_many(directory: Path, first: int, count: int, say: Callable[[str], None]) -> list[Told]:
    """Each cluster tells some of them, one after the other. Who complains ends the cluster, whose files stay."""
    told: list[Told] = []
    cluster = 0
    while len(told) < count:
        cluster += 1
        with Machines(directory / f"cluster-{cluster}") as machines:
            for _ in range(min(TOLD_BY_ONE_CLUSTER, count - len(told))):
                told.append(tell(machines, first + len(told)))
                say(str(told[-1]))
                if told[-1].complaints:
                    break
    return told
