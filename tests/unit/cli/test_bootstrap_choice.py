from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.cli.bootstrap import BadCommand, Bootstrap, choose

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
    with pytest.raises(BadCommand, match=r"security\.protocol=SASL_SSL is not supported yet"):
        choose("x:1", None, str(path))
