"""Names of certificates, and what rules make of them, are Java's to the letter (SSL-08, 09): questions of chance."""

from __future__ import annotations

from random import Random

import pytest

from controller_runtime.security.der import SEQUENCE, read_name, single
from controller_runtime.security.distinguished_names import name_text
from controller_runtime.security.mapping_rules import BadRules, NoMatchingRule, parse_rules
from support.apache_kafka.certificate_names import ask_java, random_mapping, random_name
from support.sampling import run_seed

pytestmark = pytest.mark.interop


def test_random_names_and_rules_are_answered_alike() -> None:
    rng = Random(run_seed())
    names = [random_name(rng) for _ in range(800)]
    mappings = [random_mapping(rng) for _ in range(800)]
    questions = [f"dn\t{one.hex()}" for one in names] + [f"map\t{rules}\t{name}" for rules, name in mappings]
    ours = [f"= {name_text(read_name(single(one, SEQUENCE).content))}" for one in names]
    ours += [_mapped(rules, name) for rules, name in mappings]
    java = ask_java(questions)
    assert [each for each in zip(questions, java, map(_on_one_line, ours), strict=True) if each[1] != each[2]] == []


def _mapped(rules: str, name: str) -> str:
    try:
        return f"= {parse_rules(rules).principal_name(name)}"
    except BadRules:
        return "! IllegalArgumentException"
    except NoMatchingRule:
        return "! NoMatchingRule"


def _on_one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r")
