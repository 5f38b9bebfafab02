"""Members of a streams group (KIP-1071): Apache Kafka's own Streams library, which counts words exactly once.

compiled = compile_counter(tmp_path)
with WordCount(compiled, tmp_path / "a", servers, "counting", "words", "counts") as member:
    member.wait_until_running()
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest

from support.apache_kafka.java_kafka import JVM_FLAGS, VERSION, JavaUnavailable, cache_directory, fetch
from support.nodes.processes import eventually

HERE: Final = Path(__file__).parent
SOURCE: Final = HERE / "StreamsCount.java"
SECONDS: Final = 180.0


def compile_counter(directory: Path) -> str:
    """The class path of the program; skips, or fails in CI, where a compiler or the library cannot be had."""
    try:
        if shutil.which("javac") is None:
            raise JavaUnavailable("no javac on PATH: install openjdk-17-jdk-headless")
        library = fetch(VERSION, HERE / "streams.pom.xml")
    except JavaUnavailable as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    jars = ":".join(sorted(str(jar) for jar in library.glob("*.jar")))
    subprocess.run(["javac", "-cp", jars, "-d", str(directory), str(SOURCE)], check=True, timeout=120)
    logging = sorted(cache_directory().glob("lib/log4j-*.jar"))
    return ":".join([str(directory), jars, *map(str, logging)])


class WordCount:
    """One member, a process of its own with a directory of its own."""

    def __init__(self, class_path: str, directory: Path, servers: str, group: str, words: str, counts: str) -> None:
        self._said = directory / "said"
        directory.mkdir()
        arguments = [servers, group, words, counts, str(directory / "state")]
        logging = f"-Dlog4j2.configurationFile={cache_directory() / 'log4j2.xml'}"
        with self._said.open("wb") as output:
            self._process = subprocess.Popen(
                ["java", *JVM_FLAGS, logging, "-cp", class_path, "StreamsCount", *arguments],
                stdout=output, stderr=output,
            )  # fmt: skip

    def said(self) -> str:
        return self._said.read_text(errors="replace")

    def wait_until_running(self) -> None:
        def runs() -> bool:
            assert self._process.poll() is None, self.said()[-2500:]
            return "state RUNNING" in self.said()

        eventually("the member runs", runs, SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(20)

    def stop(self) -> None:
        """SIGTERM: it leaves the group."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()
        if error is not None:
            print(f"--- a member of the streams group\n{self.said()[-2500:]}")
