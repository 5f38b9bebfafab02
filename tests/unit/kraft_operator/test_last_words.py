"""What a container said before it ended: the lines that matter, short, and no secret in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft_operator.last_words import MAX_LENGTH, last_words, redacted

pytestmark = pytest.mark.unit

JAVA = """[2026-01-01 00:00:00,000] INFO starting (kafka.server.KafkaRaftServer)
[2026-01-01 00:00:00,001] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)
org.apache.kafka.common.config.ConfigException: Invalid value plenty for configuration replica.fetch.max.bytes
\tat org.apache.kafka.common.config.ConfigDef.parseType(ConfigDef.java:769)
\tat kafka.Kafka.main(Kafka.scala)
"""


def test_of_a_stack_the_lines_that_name_the_error_are_kept() -> None:
    assert last_words(JAVA) == (
        "[2026-01-01 00:00:00,001] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$) / "
        "org.apache.kafka.common.config.ConfigException: Invalid value plenty for configuration replica.fetch.max.bytes"
    )


def test_where_no_line_names_an_error_the_last_ones_are_kept() -> None:
    assert last_words("one\n\ntwo\nthree\nfour\n") == "two / three / four"
    assert last_words("") == ""


def test_a_long_line_is_cut() -> None:
    assert len(last_words("ERROR " + "x" * 5000)) == MAX_LENGTH


@pytest.mark.parametrize(
    "line",
    [
        "ssl.keystore.password=geheim",
        "delegation.token.secret.key: geheim",
        'sasl.jaas.config=org.apache.kafka.PlainLoginModule required username="u" password="geheim";',
        "listener.name.x.sasl.jaas.config = anything at all geheim",
        "ConfigException: Invalid value geheim2 for password geheim",
        "could not reach https://user:geheim@host/path",
        "ssl.keystore.key=-----BEGIN PRIVATE KEY-----geheim",
        "AWS_SECRET_ACCESS_KEY=geheim",
        "api-key 'geheim two'",
    ],
)
def test_what_follows_a_word_that_names_a_secret_is_hidden(line: str) -> None:
    assert "geheim" not in redacted(line).replace("geheim2", "")


@given(
    st.sampled_from(["password", "TOKEN", "client.secret", "ssl.key.password", "scram-credential"]),
    st.sampled_from(["=", ": ", " = ", " "]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=",;\"'="), min_size=4, max_size=30),
)
def test_no_value_of_a_secret_is_left_whatever_it_is(name: str, between: str, value: str) -> None:
    assert value not in redacted(f"ERROR {name}{between}{value}").replace(name, "")
