"""What a properties file names and does not hold is what Apache Kafka's config providers make of it (SEC-04..06)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random
from typing import Final

import pytest

from controller_runtime.configuration.properties import parse_properties
from controller_runtime.configuration.providers import BadProviders, read_providers
from support.apache_kafka.java_kafka import JVM_FLAGS, require_java
from support.configs.provided import ENVIRONMENT, make_files, questions
from support.sampling import run_seed

pytestmark = pytest.mark.interop

SOURCE: Final = Path(__file__).parents[1] / "support" / "apache_kafka" / "ProvidedValues.java"


def test_values_are_found_and_refused_as_by_java(tmp_path: Path) -> None:
    make_files(tmp_path)
    asked = ["\n".join(lines) for lines in questions(tmp_path, Random(run_seed()))]
    java, ours = java_reads(asked), [ours_reads(text) for text in asked]
    assert [each for each in zip(asked, java, ours, strict=True) if each[1] != each[2]] == []
    assert {answer[:1] for answer in java} == {"=", "!"}


def java_reads(asked: list[str]) -> list[str]:
    done = subprocess.run(
        ["java", *JVM_FLAGS, "-cp", require_java(), str(SOURCE)],
        input="".join(f"{text.encode().hex()}\n" for text in asked),
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    lines = [line.removeprefix("answer ") for line in done.stdout.splitlines() if line.startswith("answer ")]
    return [f"= {bytes.fromhex(line[2:]).decode()}" if line[0] == "=" else line for line in lines]


def ours_reads(text: str) -> str:
    properties = parse_properties(text, "asked")
    try:
        found, _ = read_providers(properties, ENVIRONMENT).resolve_all(properties)
    except BadProviders:
        return "!"
    return "= " + "".join(f"{name}={found[name].value}\0" for name in sorted(found))
