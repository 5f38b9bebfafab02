from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.configuration.config import ConfigError, ServerConfig, from_properties, load
from controller_runtime.configuration.listeners import ListenerAddress
from controller_runtime.configuration.properties import parse_properties
from controller_runtime.configuration.settings import refusal_at_run_time
from controller_runtime.identifiers import Endpoint, NodeId
from controller_runtime.metadata.authorizer import AuthorizerRules

pytestmark = pytest.mark.unit

CONTROLLER = """process.roles=controller
node.id=1
controller.quorum.bootstrap.servers=c1:9093,c2:9094
controller.listener.names=CONTROLLER
listeners=CONTROLLER://127.0.0.1:9093
log.dirs=/data/c1
"""
BROKER = """process.roles=broker
node.id=11
controller.quorum.voters=1@c1:9093,2@c2:9094
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:9092
log.dirs=/data/a,/data/b
broker.rack=r1
"""


def read(text: str, **environment: str) -> ServerConfig:
    return from_properties(parse_properties(text, "server.properties"), "server.properties", environment)


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as refused:
        read(text)
    return refused.value.problems


def test_a_controller_with_dynamic_voters() -> None:
    config = read(CONTROLLER)
    assert (config.node_id, config.is_controller, config.is_broker) == (1, True, False)
    assert config.controller_listeners == (ListenerAddress("CONTROLLER", "127.0.0.1", 9093),)
    assert config.advertised == {"CONTROLLER": Endpoint("127.0.0.1", 9093)}
    assert config.contact_points == (Endpoint("c1", 9093), Endpoint("c2", 9094))
    assert config.metadata_log_dir == "/data/c1"
    assert config.notices == ()


def test_a_broker_with_static_voters_and_several_disks() -> None:
    config = read(BROKER)
    assert config.quorum_voters == {NodeId(1): Endpoint("c1", 9093), NodeId(2): Endpoint("c2", 9094)}
    assert config.log_dirs == ("/data/a", "/data/b")
    assert config.metadata_log_dir == "/data/a"
    assert config.rack == "r1"
    assert read(BROKER + "metadata.log.dir=/data/m").metadata_log_dir == "/data/m"


def test_both_roles_in_one_process_keep_their_listeners_apart() -> None:
    config = read(
        CONTROLLER + "process.roles=broker,controller\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093,SECOND://:9095\n"
        "controller.listener.names=CONTROLLER,second\nadvertised.listeners=PLAINTEXT://b1:29092\n"
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECOND:PLAINTEXT"
    )
    assert [one.name for one in config.controller_listeners] == ["CONTROLLER", "SECOND"]
    assert [one.name for one in config.broker_listeners] == ["PLAINTEXT"]
    assert config.advertised["PLAINTEXT"] == Endpoint("b1", 29092)
    assert config.advertised["SECOND"].host not in {"", "0.0.0.0"}


def test_an_ipv6_listener_is_written_in_brackets() -> None:
    assert read(CONTROLLER + "listeners=CONTROLLER://[::1]:9093").listeners[0].host == "::1"


def test_typed_settings_fall_back_to_the_defaults_of_kafka() -> None:
    settings = read(CONTROLLER + "controller.quorum.fetch.timeout.ms=700").settings
    assert settings.integer("controller.quorum.fetch.timeout.ms") == 700
    assert settings.integer("controller.quorum.election.timeout.ms") == 1000
    assert settings.boolean("auto.create.topics.enable") is True
    assert settings.text("broker.rack") is None


def test_an_unknown_name_is_a_warning_that_names_its_line() -> None:
    assert read(CONTROLLER + "no.such.name=1").notices == (
        "server.properties:7: no.such.name is not a known configuration, it is ignored",
    )


def test_a_name_of_kafka_that_is_not_acted_on_is_listed_with_the_reason() -> None:
    assert read(CONTROLLER + "num.network.threads=9").notices == (
        (
            "server.properties:7: num.network.threads is ignored: one event loop serves all; a "
            "connection has one request in progress"
        ),
    )


@pytest.mark.parametrize(
    ("line", "culprit"),
    [
        ("log.flush.interval.ms=1000", "log.flush.interval.ms"),
        ("ssl.provider=X", "ssl.provider"),
        ("sasl.something.new=1", "sasl.something.new"),
        ("ssl.unknown=1", "ssl.unknown"),
        ("listener.name.controller.sasl.jaas.config=x", "listener.name.controller.sasl.jaas.config"),
        ("create.topic.policy.class.name=x.Y", "create.topic.policy.class.name"),
    ],
)
def test_what_would_weaken_security_or_durability_refuses_to_start(line: str, culprit: str) -> None:
    (problem,) = problems(CONTROLLER + line)
    assert problem.startswith(f"server.properties:7: {culprit} is not supported")


STANDARD = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"


def test_the_authorizer_is_kafkas_standard_one_and_no_other() -> None:
    assert read(CONTROLLER + "super.users=User:admin").security.authorizer is None
    plain = read(CONTROLLER + STANDARD)
    assert plain.security.authorizer == AuthorizerRules()
    assert plain.security.serves_acls
    named = read(CONTROLLER + STANDARD + "super.users= User:a ;;User:CN=b:c,O=d\nallow.everyone.if.no.acl.found= True ")
    assert named.security.authorizer == AuthorizerRules(frozenset({"User:a", "User:CN=b:c,O=d"}), allows_everyone=True)
    assert named.notices == ()
    (other,) = problems(CONTROLLER + "authorizer.class.name=kafka.security.authorizer.AclAuthorizer")
    assert other.startswith("server.properties:7: Invalid value kafka.security.authorizer.AclAuthorizer for")
    (unnamed,) = problems(CONTROLLER + STANDARD + "super.users=User:a;admin")
    assert "expected a string in format principalType:principalName but got admin" in unnamed


def test_refused_names_are_harmless_at_the_default_of_kafka() -> None:
    harmless = "log.flush.scheduler.interval.ms=9223372036854775807\nssl.client.auth=none\nauthorizer.class.name="
    assert read(CONTROLLER + harmless).notices == ()


def test_how_often_tickets_of_kerberos_are_renewed_stops_nothing_and_that_there_are_any_does() -> None:
    """librdkafka's own tests change the first one of a running broker (`0081-admin.c`)."""
    name = "sasl.kerberos.min.time.before.relogin"
    assert any(name in one for one in read(f"{CONTROLLER}{name}=58000\n").notices)
    assert refusal_at_run_time(name, "58000") is None
    (problem,) = problems(f"{CONTROLLER}sasl.kerberos.service.name=kafka\n")
    assert "sasl.kerberos.service.name is not supported" in problem
    assert refusal_at_run_time("sasl.kerberos.service.name", "kafka") is not None


@pytest.mark.parametrize(
    "line", ["min.insync.replicas=0", "min.insync.replicas=two", "log.message.timestamp.after.max.ms=-1"]
)
def test_what_no_topic_may_have_a_node_may_not_give_its_topics(line: str) -> None:
    (problem,) = problems(CONTROLLER + line)
    name, _, value = line.partition("=")
    assert problem.startswith(f"server.properties:7: Invalid value {value} for configuration {name}: ")


def test_a_secret_is_never_shown() -> None:
    (problem,) = problems(CONTROLLER + "listener.name.controller.gssapi.sasl.jaas.config=hunter2")
    assert "hunter2" not in problem
    config = read(CONTROLLER + "delegation.token.secret.key=hunter2")
    assert config.security.token_secret == b"hunter2"
    assert "hunter2" not in repr(config.security)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("node.id=one", "server.properties:7: Invalid value one for configuration node.id: Not a number of type INT"),
        ("node.id=-1", "server.properties:7: Invalid value -1 for configuration node.id: Value must be at least 0"),
        (
            "node.id=99999999999",
            "server.properties:7: Invalid value 99999999999 for configuration node.id: Not a number of type INT",
        ),
        ("auto.create.topics.enable=ja", "Expected value to be either true or false"),
        ("process.roles=observer", "Unknown process role 'observer'"),
        ("process.roles=controller,controller", "Duplicate role names found"),
        ("listeners=CONTROLLER://c1", "a port from 0 to 65535"),
        ("listeners=CONTROLLER://c1:70000", "a port from 0 to 65535"),
        ("listeners=CONTROLLER://::1:9093", "IPv6 address is written in brackets"),
        ("listeners=PLAINTEXT://c1:9092", "must have at least one of controller.listener.names"),
        ("listeners=CONTROLLER://c1:9093,EXTRA://c1:9094", "EXTRA"),
        ("listeners=CONTROLLER://:1,CONTROLLER://:2", "different name"),
        ("controller.quorum.bootstrap.servers=c1", "c1"),
        ("controller.quorum.voters=2@c2:9093", "must contain the node id 1"),
        ("controller.quorum.voters=1@c2:9093,1@c3:9093", "listed twice"),
        ("advertised.listeners=CONTROLLER://0.0.0.0:9093", "nonroutable"),
        ("advertised.listeners=OTHER://c1:9093", "OTHER is not among the listeners"),
        ("broker.id=7", "same value as `broker.id`"),
        ("socket.request.max.bytes=0", "Value must be at least 1"),
        ("max.connections.per.ip=0", "can be set to zero only if max.connections.per.ip.overrides property is set"),
        ("max.connections.per.ip.overrides=10.0.0.1", "Error parsing configuration property"),
        ("max.connections.per.ip.overrides=a b:1", "contains invalid addresses : a b"),
        (
            "listener.name.controller.max.connections=x",
            "Invalid value x for configuration listener.name.controller.max.connections: Not a number",
        ),
        ("quorate.log.format=xml", "one of text, json"),
        ("quorate.http.listener=nowhere", "quorate.http.listener"),
    ],
)
def test_a_bad_value_is_an_error_that_names_the_line(line: str, expected: str) -> None:
    found = "\n".join(problems(CONTROLLER + line))
    assert expected in found
    assert "server.properties:7" in found


def test_bounds_on_connections_are_acted_on() -> None:
    lines = "max.connections.per.ip=0\nmax.connections.per.ip.overrides=h:1\nlistener.name.controller.max.connections=5"
    assert read(CONTROLLER + lines).notices == ()


def test_every_problem_is_reported_at_once() -> None:
    assert len(problems(CONTROLLER + "num.partitions=x\ndelegation.token.expiry.time.ms=0\nssl.provider=X")) == 3


def test_missing_names_are_reported_in_the_words_of_kafka() -> None:
    assert problems("log.dirs=/x") == tuple(
        f'server.properties: Missing required configuration "{name}" which has no default value.'
        for name in ("process.roles", "node.id", "controller.listener.names")
    )


def test_a_broker_without_any_controller_address_is_refused() -> None:
    (problem,) = problems(BROKER.replace("controller.quorum.voters=1@c1:9093,2@c2:9094\n", ""))
    assert "either controller.quorum.bootstrap.servers must contain" in problem


def test_only_a_controller_may_join_by_itself() -> None:
    """RCF-13."""
    wanted = "controller.quorum.auto.join.enable=true"
    assert read(CONTROLLER + wanted).settings.boolean("controller.quorum.auto.join.enable")
    (problem,) = problems(BROKER + wanted)
    assert "controller.quorum.auto.join.enable is only supported when process.roles contains" in problem.replace(
        ":", ""
    )


def test_a_broker_must_not_be_a_voter_nor_listen_for_controllers() -> None:
    assert "must not contain the node id 11" in problems(BROKER + "controller.quorum.voters=11@c1:9093")[0]
    assert "must not listen on" in problems(BROKER + "listeners=PLAINTEXT://:1,CONTROLLER://:2")[0]


def test_the_http_port_and_the_log_come_from_the_file_or_the_environment() -> None:
    config = read(CONTROLLER, QUORATE_HTTP_LISTENER="0.0.0.0:9404", QUORATE_LOG_FORMAT="json")
    assert (config.http_listener, config.log_format) == (("0.0.0.0", 9404), "json")
    stated = read(CONTROLLER + "quorate.http.listener=127.0.0.1:0", QUORATE_HTTP_LISTENER="0.0.0.0:9404")
    assert stated.http_listener == ("127.0.0.1", 0)
    assert read(CONTROLLER).http_listener is None


def test_a_file_and_overrides(tmp_path: Path) -> None:
    path = tmp_path / "c1.properties"
    path.write_text(CONTROLLER)
    assert load(str(path), ["node.id=5"]).node_id == 5
    with pytest.raises(ConfigError, match=r"--override node\.id: Invalid value x"):
        load(str(path), ["node.id=x"])
    with pytest.raises(ConfigError, match="No such file"):
        load(str(tmp_path / "absent"))
