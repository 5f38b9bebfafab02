"""Values that a properties file names and does not hold: what is read, from where, and what nobody is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller_runtime.cli.bootstrap import BadCommand, choose
from controller_runtime.configuration.config import ConfigError, ServerConfig, load
from controller_runtime.configuration.properties import Property
from controller_runtime.configuration.provider_files import MAX_BYTES
from controller_runtime.configuration.security import with_stores
from controller_runtime.security.sasl_settings import ClientLogin
from support.configs.provided import lines_of

pytestmark = pytest.mark.unit

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
BROKER = """process.roles=broker
node.id=11
controller.quorum.voters=1@c1:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT
listeners=PLAINTEXT://127.0.0.1:9092
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
log.dirs=/data/a
"""
JAAS = "listener.name.plaintext.plain.sasl.jaas.config"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """As a Secret's volume in Kubernetes: names are links, through a link that changes when the Secret does."""
    volume = tmp_path / "secrets"
    (volume / "..2026").mkdir(parents=True)
    (volume / "..data").symlink_to("..2026")
    (volume / "..2026" / "ann").write_text("c4nary of ann")
    (volume / "ann").symlink_to("..data/ann")
    (volume / "..2026" / "all.properties").write_text("ann=c4nary of ann\nrack=r7\n")
    (volume / "all.properties").symlink_to("..data/all.properties")
    (tmp_path / "private.properties").write_text("ann=c4nary of another\n")
    (volume / "out").symlink_to(tmp_path / "private.properties")
    return volume


def read(directory: Path, *lines: str) -> ServerConfig:
    path = directory / "server.properties"
    path.write_text(BROKER + "\n".join(lines))
    return load(str(path))


def problem(directory: Path, *lines: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read(directory, *lines)
    (only,) = refused.value.problems
    assert "c4nary" not in only
    return only


def test_a_node_gets_its_secrets_from_files_and_shows_none(tmp_path: Path, secrets: Path) -> None:
    """SEC-04, SEC-06: within the allowed paths, through the links of a Secret's volume (SEC-05)."""
    config = read(
        tmp_path,
        *lines_of("file", "dir", file_allowed_paths=str(secrets), dir_allowed_paths=str(secrets)),
        f'{JAAS}={MODULE} required username="node" password="n" user_ann="${{dir:{secrets}:ann}}" '
        f'user_bob="${{file:{secrets}/all.properties:ann}}";',
        f"broker.rack=${{file:{secrets}/all.properties:rack}}",
    )
    sasl = config.listener_security["PLAINTEXT"].sasl
    assert sasl is not None
    assert sasl.plain_users == {"ann": "c4nary of ann", "bob": "c4nary of ann"}
    assert config.rack == "r7"
    assert config.notices == ()
    assert "c4nary" not in repr(config)


def test_an_override_and_the_environment_name_values_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SEC-06: of the environment what the pattern allows."""
    monkeypatch.setenv("RACK_A", "r1")
    path = tmp_path / "server.properties"
    path.write_text(
        BROKER.replace("SASL_PLAINTEXT", "PLAINTEXT") + "\n".join(lines_of("env", env_allowlist_pattern="RACK_.*"))
    )
    config = load(str(path), ["broker.rack=${env:RACK_A}-${env:HOME}"])
    assert config.rack == "r1-${env:HOME}"
    (notice,) = config.notices
    assert notice.startswith("--override broker.rack: broker.rack: ${env:HOME} is not there, or is not allowed")


@pytest.mark.parametrize("reference", ["${file:{0}/all.properties:none}", "${dir:{0}:none}", "${dir:{0}:out}",
    "${file:{0}/out:ann}", "${file:{0}/../private.properties:ann}", "${file:{1}:ann}"])  # fmt: skip
def test_a_secret_that_is_not_there_or_not_allowed_stops_the_start(
    tmp_path: Path, secrets: Path, reference: str
) -> None:
    """SEC-05, ATK-25: neither `..`, nor a relative path, nor a link leads out; what would be everybody's guess is no
    password.
    """
    private = os.path.relpath(tmp_path / "private.properties")
    written = reference.replace("{0}", str(secrets)).replace("{1}", private)
    allowed = lines_of("file", "dir", file_allowed_paths=str(secrets), dir_allowed_paths=str(secrets))
    said = problem(tmp_path, *allowed, f'{JAAS}={MODULE} required user_ann="{written}";')
    assert f"{JAAS}: {written} is not there, or is not allowed to be read: provide it" in said


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["config.providers=file"], "set config.providers.file.class: provider file has no class"),
        (["config.providers=x", "config.providers.x.class=com.example.Vault"], "config.providers.x.class must be one"),
        (lines_of("file", file_allowed_paths="/none/such"), "file.param.allowed.paths: Path /none/such does not exist"),
        (lines_of("dir", dir_allowed_paths="tmp"), "dir.param.allowed.paths: Path tmp is not absolute"),
        (lines_of("env", env_allowlist_pattern="("), "env.param.allowlist.pattern: '(' is no regular expression"),
        (
            [*lines_of("env"), "broker.rack=${env:x:HOME}"],
            "broker.rack: Path is not supported for EnvVarConfigProvider",
        ),
    ],
)
def test_a_provider_that_cannot_be_had_stops_the_start(tmp_path: Path, lines: list[str], words: str) -> None:
    assert words in problem(tmp_path, *lines)


def test_a_file_that_cannot_be_read_is_named_and_not_shown(tmp_path: Path) -> None:
    """Devices, pipes, what is too large, and secrets in bad lines: refused, without waiting, without a word of them."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"a" * (MAX_BYTES + 1))
    (tmp_path / "binary").write_bytes(b"a=c4nary\xff")
    (tmp_path / "escape").write_text("a=1\nb=c4nary\\uXYZ1\n")
    wanted = {"pipe": "no regular file", "large": "more than", "binary": "it is not UTF-8", "escape": "escape:2: malf"}
    for name, words in {**wanted, "none": "No such file", "": "Is a directory"}.items():
        said = problem(tmp_path, *lines_of("file"), f"broker.rack=${{file:{tmp_path}/{name}:a}}")
        assert f"broker.rack: Could not read properties from file {tmp_path}/{name}: " in said
        assert words in said
    own = problem(tmp_path, f"{JAAS}=c4nary\\uXYZ1")
    assert own == "server.properties:10: malformed \\uxxxx escape"


def test_a_store_that_is_set_while_a_node_runs_may_name_its_password(tmp_path: Path, secrets: Path) -> None:
    """The log has the reference, the node has the password; nothing else of a request is resolved (ATK-09)."""
    config = read(
        tmp_path,
        *lines_of("dir", dir_allowed_paths=str(secrets)),
        f'{JAAS}={MODULE} required username="n" password="n" user_ann="x";',
    )
    reference = f"${{dir:{secrets}:ann}}"
    stores = with_stores(
        config.settings,
        {"listener.name.plaintext.ssl.keystore.password": reference, "sasl.jaas.config": reference},
        config.providers,
    )
    name = "listener.name.plaintext.ssl.keystore.password"
    assert stores.properties[name] == Property(name, "c4nary of ann", "IncrementalAlterConfigs")
    assert "sasl.jaas.config" not in stores.properties


def test_tools_get_their_secrets_the_same_way(tmp_path: Path, secrets: Path) -> None:
    path = tmp_path / "client.properties"
    common = "\n".join(lines_of("dir", dir_allowed_paths=str(secrets)))
    login = f'sasl.mechanism=PLAIN\nsasl.jaas.config={MODULE} required username="ann" password="${{dir:{secrets}:%s}}";'
    path.write_text(f"{common}\nsecurity.protocol=SASL_PLAINTEXT\n{login % 'ann'}\n")
    assert choose("x:1", None, str(path)).security.login == ClientLogin("PLAIN", "ann", "c4nary of ann")
    path.write_text(f"{common}\nsecurity.protocol=SASL_PLAINTEXT\n{login % 'nobody'}\n")
    with pytest.raises(BadCommand, match="is not there, or is not allowed to be read"):
        choose("x:1", None, str(path))
