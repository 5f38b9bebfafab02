from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.cli.bootstrap import BadCommand, Bootstrap, choose
from controller_runtime.security.sasl_settings import ClientLogin

pytestmark = pytest.mark.unit


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "client.properties"
    path.write_text("bootstrap.servers=b:1\nbootstrap.controllers=c:1\nclient.id=me\ndefault.api.timeout.ms=500\n")
    return str(path)


def test_a_flag_replaces_its_setting_and_clears_the_other(config: str) -> None:
    settings = {
        "bootstrap.servers": "b:1",
        "bootstrap.controllers": "c:1",
        "client.id": "me",
        "default.api.timeout.ms": "500",
    }
    assert choose("x:1", None, config) == Bootstrap("x:1", None, settings)
    assert choose(None, "y:1", config) == Bootstrap(None, "y:1", settings)


def test_exactly_one_flag_is_needed_whatever_the_file_says(config: str) -> None:
    with pytest.raises(BadCommand, match=r"You must specify either --bootstrap-controller or --bootstrap-server\."):
        choose(None, None, config)
    with pytest.raises(BadCommand, match=r"You cannot specify both --bootstrap-server and --bootstrap-controller\."):
        choose("x:1", "y:1", None)


def test_security_that_we_cannot_give_is_refused_not_dropped(tmp_path: Path) -> None:
    path = tmp_path / "secure.properties"
    path.write_text("security.protocol=SASL_SSL\n")
    with pytest.raises(BadCommand, match="SASL mechanism GSSAPI is not supported"):
        choose("x:1", None, str(path))


PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def test_a_client_comes_as_its_login_module_says(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    said = f'sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} username="ann" password="hunter2";\n'
    path.write_text(f"security.protocol=SASL_PLAINTEXT\n{said}")
    found = choose("h:1", None, str(path)).security
    assert found.login == ClientLogin("PLAIN", "ann", "hunter2")
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("sasl.mechanism=GSSAPI", "GSSAPI is not supported"),
        ("sasl.mechanism=OAUTHBEARER", "OAUTHBEARER needs a login module"),
        ("sasl.mechanism=PLAIN", "PLAIN needs a login module"),
        (f'sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} password="hunter2";', "username and password"),
        (f'sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} password="hunter2', "not terminated by semi-colon"),
        (f'sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={PLAIN} password="hunter2";', "SCRAM-SHA-256 needs"),
        (
            "sasl.mechanism=PLAIN\nsasl.jaas.config=com.sun.security.auth.module.JndiLoginModule required;",
            "not accepted",
        ),
        (
            f"sasl.mechanism=PLAIN\nsasl.client.callback.handler.class=x.Y\nsasl.jaas.config={PLAIN} x=hunter2;",
            "sasl.client.callback.handler.class is not supported",
        ),
    ],
)
def test_a_login_that_we_cannot_give_is_refused(tmp_path: Path, lines: str, words: str) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"security.protocol=SASL_PLAINTEXT\n{lines}\n")
    with pytest.raises(BadCommand) as refused:
        choose("h:1", None, str(path))
    assert words in str(refused.value)
    assert "hunter2" not in str(refused.value)
