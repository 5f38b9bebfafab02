"""Apache Kafka's own judges of lost records: VerifiableProducer says which numbers were acknowledged, and
VerifiableConsumer which ones a group got.

    with Verifiable(tmp_path, servers, "ledger") as clients:
        clients.wait_for_more(100)
        assert clients.lost() == set()
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from support.apache_kafka.java_kafka import command
from support.nodes.processes import eventually

SECONDS: Final = 180.0
A_SECOND: Final = 50
"""Records: enough to have some on their way at every kill, few enough for a machine that does other things, too."""
PATIENT: Final = "retries=2147483647\nenable.idempotence=true\ndelivery.timeout.ms=240000\n"
"""The tool tries once by itself; a client of Kafka goes on."""


class Verifiable:
    def __init__(self, directory: Path, servers: str, topic: str, protocol: str = "consumer") -> None:
        self._directory = directory
        patient = directory / "patient.properties"
        patient.write_text(PATIENT)
        where = ["--bootstrap-server", servers, "--topic", topic]
        self._producer = self._client(
            "verifiable-producer", [*where, "--throughput", str(A_SECOND), "--command-config", str(patient)]
        )
        self._consumer = self._client(
            "verifiable-consumer", [*where, "--group-id", "judge", "--group-protocol", protocol, "--verbose"]
        )

    def _client(self, name: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        words = command(name, arguments)
        with (self._directory / f"{name}.out").open("wb") as out, (self._directory / f"{name}.err").open("wb") as err:
            return subprocess.Popen(words, stdout=out, stderr=err)

    def _said(self, name: str, what: str) -> Iterator[dict[str, Any]]:
        """Whole lines only: the tool may be in the middle of one."""
        text = (self._directory / f"{name}.out").read_bytes().decode()
        lines = text[: text.rfind("\n") + 1].splitlines()
        return (json.loads(line) for line in lines if f'"name":"{what}"' in line)

    def acknowledged(self) -> list[tuple[int, int]]:
        """(number, when it was acknowledged in ms), in the order of the acknowledgements."""
        said = self._said("verifiable-producer", "producer_send_success")
        return [(int(one["value"]), int(one["timestamp"])) for one in said]

    def failed(self) -> list[dict[str, Any]]:
        """Records that the producer gave up."""
        return list(self._said("verifiable-producer", "producer_send_error"))

    def consumed(self) -> set[int]:
        return {int(one["value"]) for one in self._said("verifiable-consumer", "record_data")}

    def wait_for_more(self, count: int) -> None:
        target = len(self.acknowledged()) + count
        eventually(f"{count} more records are acknowledged", lambda: len(self.acknowledged()) >= target, SECONDS)

    def longest_pause_ms(self) -> int:
        """Between two acknowledgements that follow each other: a figure to report, not to hold anybody to."""
        times = [when for _, when in self.acknowledged()]
        return max((later - earlier for earlier, later in pairwise(times)), default=0)

    def lost(self) -> set[int]:
        """End the producer; what was acknowledged and does not come to the group, however long it is waited for."""
        self._producer.send_signal(signal.SIGTERM)
        self._producer.wait(SECONDS)
        acknowledged = {number for number, _ in self.acknowledged()}
        try:
            eventually("the group has everything", lambda: acknowledged <= self.consumed(), SECONDS)
        except AssertionError:
            return acknowledged - self.consumed()
        return set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, process in (("producer", self._producer), ("consumer", self._consumer)):
            if process.poll() is None:
                process.kill()
            process.wait(20)
            if error is not None:
                print(f"--- {name}\n{(self._directory / f'verifiable-{name}.err').read_text(errors='replace')[-2000:]}")
