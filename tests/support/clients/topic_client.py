"""A client that creates topics one after the other without pause while a quorum is shaken, and what it was promised.

It runs in the network of the cluster's pods and asks brokers by the pods' own names: from there a Service's address
leads nowhere. A creation whose outcome is unknown is asked for again under the same name; acknowledged is what was
answered, or is found to exist then.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.results import NewTopic
from support.kubernetes.cluster import ROOT
from support.kubernetes.operator_process import DEVCLUSTER, Story, eventually
from support.kubernetes.outside import last_child


@contextmanager
def topic_client(story: Story, prefix: str, folder: Path, broker: int = 100) -> Iterator[list[str]]:
    """The names whose creation was acknowledged, a list that grows."""
    server = f"{story.name}-b-{broker}-0.{story.name}-nodes.{story.namespace}.svc.cluster.local:9092"
    command = [*DEVCLUSTER, "in", sys.executable, "-m", "support.clients.topic_client", server, prefix]
    path = f"{ROOT}:{ROOT / 'tests'}:{os.environ.get('PYTHONPATH', '')}"
    errors = folder / f"{prefix}.err"
    with errors.open("wb") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}
        )
    assert process.stdout is not None
    lines, names = process.stdout, list[str]()
    reader = threading.Thread(target=_collect, args=(lines, names), daemon=True)
    reader.start()
    try:
        eventually("the client writes", lambda: len(names) >= 3)
        yield names
    except AssertionError as error:
        error.add_note(f"{len(names)} acknowledged; the client said:\n{errors.read_text()[-1500:]}")
        raise
    finally:
        os.kill(last_child(process.pid), signal.SIGTERM)  # the wrappers end with what they started
        process.wait(30)
        reader.join(10)
        lines.close()


def nothing_is_lost(story: Story, names: list[str], before: int) -> None:
    """The client got on after the first `before` topics, and every acknowledged topic is there."""
    eventually("the client goes on", lambda: len(names) > before + 3)
    acknowledged = set(names)
    lost = acknowledged - topics(story)
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged topics are not there: {sorted(lost)[:5]}"


def topics(story: Story) -> set[str]:
    tool = ("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", f"{story.name}-bootstrap:9092", "--list")
    return set(story.kafka(*tool).split())


def _collect(lines: IO[str], names: list[str]) -> None:
    for line in lines:
        names.append(line.strip())


async def _create_for_ever(server: str, prefix: str) -> None:
    number = 0
    while True:
        try:
            async with AdminClient(bootstrap_servers=server, timeout_seconds=5) as admin:
                while True:
                    name = f"{prefix}-{number}"
                    found = (await admin.create_topics([NewTopic(name, 1, 1)]))[name]
                    if isinstance(found, ApiError) and "EXISTS" not in str(found):
                        raise found
                    print(name, flush=True)
                    number += 1
        except (AdminError, ApiError, OSError, TimeoutError) as error:
            print(repr(error), file=sys.stderr, flush=True)
            await asyncio.sleep(0.2)


if __name__ == "__main__":
    asyncio.run(_create_for_ever(*sys.argv[1:]))
