"""Every configuration name of Apache Kafka 4.3.1, and what this node does with it: data, no code.

A name is acted on, refused or ignored. Refused: ignoring it would weaken security or durability, so a node that finds
it set to anything but Kafka's default does not start. Ignored: harmless, listed at start with the reason.
`docs/compatibility.md` is generated from these rows, and a test compares them with the names and defaults that Kafka's
own classes report.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from controller_runtime.configuration.ignored_names import IGNORED_TABLE

ACTED: Final = "acted on"
REFUSED: Final = "refused"
IGNORED: Final = "ignored"


class ConfigName(NamedTuple):
    name: str
    kind: str
    default: str
    standing: str
    reason: str


def _rows(standing: str, table: str) -> tuple[ConfigName, ...]:
    """A line of a table is name, kind, default (nothing: an empty list); a line `# why` gives the reason of those below
    it.
    """
    rows: list[ConfigName] = []
    reason = ""
    for line in table.strip().splitlines():
        if line.startswith("#"):
            reason = line[2:]
        else:
            name, kind, *default = line.split(None, 2)
            rows.append(ConfigName(name, kind, default[0] if default else "", standing, reason))
    return tuple(rows)


_ACTED_TABLE: Final = """
advertised.listeners list null
alter.log.dirs.replication.quota.window.num int 11
alter.log.dirs.replication.quota.window.size.seconds int 1
authorizer.class.name string
auto.create.topics.enable boolean true
auto.leader.rebalance.enable boolean true
broker.heartbeat.interval.ms int 2000
broker.id int -1
broker.rack string null
broker.session.timeout.ms int 9000
compression.type string producer
config.providers list
connection.failed.authentication.delay.ms int 100
connections.max.idle.ms long 600000
connections.max.reauth.ms long 0
controller.listener.names list REQUIRED
controller.quorum.append.linger.ms int 25
controller.quorum.auto.join.enable boolean false
controller.quorum.bootstrap.servers list
controller.quorum.election.backoff.max.ms int 1000
controller.quorum.election.timeout.ms int 1000
controller.quorum.fetch.max.bytes int 1048576
controller.quorum.fetch.snapshot.max.bytes int 1048576
controller.quorum.fetch.timeout.ms int 2000
controller.quorum.request.timeout.ms int 2000
controller.quorum.retry.backoff.ms int 20
controller.quorum.voters list
controller.quota.window.num int 11
controller.quota.window.size.seconds int 1
cordoned.log.dirs list
default.replication.factor int 1
delegation.token.expiry.check.interval.ms long 3600000
delegation.token.expiry.time.ms long 86400000
delegation.token.max.lifetime.ms long 604800000
delegation.token.secret.key password null
delete.topic.enable boolean true
group.consumer.assignment.interval.ms int 1000
group.consumer.assignors list uniform,range
group.consumer.heartbeat.interval.ms int 5000
group.consumer.max.size int 2147483647
group.consumer.migration.policy string bidirectional
group.consumer.session.timeout.ms int 45000
group.coordinator.rebalance.protocols list classic,consumer,streams
early.start.listeners list null
group.initial.rebalance.delay.ms int 3000
group.max.session.timeout.ms int 1800000
group.max.size int 2147483647
group.min.session.timeout.ms int 6000
group.share.assignment.interval.ms int 1000
group.share.delivery.count.limit int 5
group.share.heartbeat.interval.ms int 5000
group.share.max.share.sessions int 2000
group.share.max.size int 200
group.share.partition.max.record.locks int 2000
group.share.record.lock.duration.ms int 30000
group.share.session.timeout.ms int 45000
group.streams.assignment.interval.ms int 1000
group.streams.heartbeat.interval.ms int 5000
group.streams.initial.rebalance.delay.ms int 3000
group.streams.max.size int 2147483647
group.streams.num.standby.replicas int 0
group.streams.session.timeout.ms int 45000
initial.broker.registration.timeout.ms int 60000
inter.broker.listener.name string null
leader.imbalance.check.interval.seconds long 300
listener.security.protocol.map string SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
listeners list PLAINTEXT://:9092
log.cleaner.backoff.ms long 15000
log.cleaner.dedupe.buffer.size long 134217728
log.cleaner.delete.retention.ms long 86400000
log.cleaner.enable boolean true
log.cleaner.io.buffer.load.factor double 0.9
log.cleaner.io.buffer.size int 524288
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308
log.cleaner.max.compaction.lag.ms long 9223372036854775807
log.cleaner.min.cleanable.ratio double 0.5
log.cleaner.min.compaction.lag.ms long 0
log.cleanup.policy list delete
log.dir list /tmp/kafka-logs
log.dir.failure.timeout.ms long 30000
log.dirs list null
log.flush.interval.messages long 9223372036854775807
log.index.interval.bytes int 4096
log.index.size.max.bytes int 10485760
log.message.timestamp.after.max.ms long 3600000
log.message.timestamp.before.max.ms long 9223372036854775807
log.message.timestamp.type string CreateTime
log.retention.bytes long -1
log.retention.check.interval.ms long 300000
log.retention.hours int 168
log.retention.minutes int null
log.retention.ms long null
log.roll.hours int 168
log.roll.ms long null
log.segment.bytes int 1073741824
log.segment.delete.delay.ms long 60000
max.connection.creation.rate int 2147483647
max.connections int 2147483647
max.connections.per.ip int 2147483647
max.connections.per.ip.overrides string
max.incremental.fetch.session.cache.slots int 1000
message.max.bytes int 1048588
metadata.log.dir string null
metadata.log.max.record.bytes.between.snapshots long 20971520
metadata.log.max.snapshot.interval.ms long 3600000
metadata.log.segment.bytes int 1073741824
metadata.log.segment.ms long 604800000
metadata.max.idle.interval.ms int 500
metadata.max.retention.bytes long 104857600
metadata.max.retention.ms long 604800000
min.insync.replicas int 1
node.id int REQUIRED
num.partitions int 1
offset.metadata.max.bytes int 4096
offsets.commit.timeout.ms int 5000
offsets.load.buffer.size int 5242880
offsets.retention.check.interval.ms long 600000
offsets.retention.minutes int 10080
offsets.topic.compression.codec int 0
offsets.topic.num.partitions int 50
offsets.topic.replication.factor short 3
offsets.topic.segment.bytes int 104857600
process.roles list REQUIRED
producer.id.expiration.ms int 86400000
queued.max.request.bytes long -1
quota.window.num int 11
quota.window.size.seconds int 1
replica.fetch.backoff.ms int 1000
replica.fetch.max.bytes int 1048576
replica.fetch.min.bytes int 1
replica.fetch.response.max.bytes int 10485760
replica.fetch.wait.max.ms int 500
replica.lag.time.max.ms long 30000
replica.selector.class string null
replication.quota.window.num int 11
replication.quota.window.size.seconds int 1
sasl.enabled.mechanisms list GSSAPI
sasl.login.callback.handler.class class null
sasl.login.connect.timeout.ms int null
sasl.login.read.timeout.ms int null
sasl.login.refresh.buffer.seconds short 300
sasl.login.refresh.min.period.seconds short 60
sasl.login.refresh.window.factor double 0.8
sasl.login.refresh.window.jitter double 0.05
sasl.login.retry.backoff.max.ms long 10000
sasl.login.retry.backoff.ms long 100
sasl.mechanism.controller.protocol string GSSAPI
sasl.mechanism.inter.broker.protocol string GSSAPI
sasl.oauthbearer.assertion.algorithm string RS256
sasl.oauthbearer.assertion.claim.aud string null
sasl.oauthbearer.assertion.claim.exp.seconds int 300
sasl.oauthbearer.assertion.claim.iss string null
sasl.oauthbearer.assertion.claim.jti.include boolean false
sasl.oauthbearer.assertion.claim.nbf.seconds int 60
sasl.oauthbearer.assertion.claim.sub string null
sasl.oauthbearer.assertion.file string null
sasl.oauthbearer.assertion.private.key.file string null
sasl.oauthbearer.assertion.private.key.passphrase password null
sasl.oauthbearer.assertion.template.file string null
sasl.oauthbearer.client.credentials.client.id string null
sasl.oauthbearer.client.credentials.client.secret password null
sasl.oauthbearer.clock.skew.seconds int 30
sasl.oauthbearer.expected.audience list
sasl.oauthbearer.expected.issuer string null
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100
sasl.oauthbearer.jwks.endpoint.url string null
sasl.oauthbearer.jwt.retriever.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
sasl.oauthbearer.jwt.validator.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
sasl.oauthbearer.scope string null
sasl.oauthbearer.scope.claim.name string scope
sasl.oauthbearer.sub.claim.name string sub
sasl.oauthbearer.token.endpoint.url string null
sasl.server.callback.handler.class class null
sasl.server.max.receive.size int 524288
security.inter.broker.protocol string PLAINTEXT
share.coordinator.load.buffer.size int 5242880
share.coordinator.snapshot.update.records.per.snapshot int 500
share.coordinator.state.topic.min.isr short 2
share.coordinator.state.topic.num.partitions int 50
share.coordinator.state.topic.replication.factor short 3
share.coordinator.state.topic.segment.bytes int 104857600
share.coordinator.write.timeout.ms int 5000
socket.connection.setup.timeout.ms long 10000
socket.listen.backlog.size int 50
socket.receive.buffer.bytes int 102400
socket.request.max.bytes int 104857600
socket.send.buffer.bytes int 102400
ssl.allow.dn.changes boolean false
ssl.allow.san.changes boolean false
ssl.cipher.suites list
ssl.client.auth string none
ssl.enabled.protocols list TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm string https
ssl.key.password password null
ssl.keystore.certificate.chain password null
ssl.keystore.key password null
ssl.keystore.location string null
ssl.keystore.password password null
ssl.keystore.type string JKS
ssl.principal.mapping.rules string DEFAULT
ssl.truststore.certificates password null
ssl.truststore.location string null
ssl.truststore.password password null
ssl.truststore.type string JKS
transaction.abort.timed.out.transaction.cleanup.interval.ms int 10000
transaction.max.timeout.ms int 900000
transaction.partition.verification.enable boolean true
transaction.remove.expired.transaction.cleanup.interval.ms int 3600000
transaction.state.log.load.buffer.size int 5242880
transaction.state.log.min.isr int 2
transaction.state.log.num.partitions int 50
transaction.state.log.replication.factor short 3
transaction.state.log.segment.bytes int 104857600
transaction.two.phase.commit.enable boolean false
transactional.id.expiration.ms int 604800000
"""

_REFUSED_TABLE: Final = """
# the policy it names would not be enforced
alter.config.policy.class.name class null
create.topic.policy.class.name class null
# the limits it imposes would not hold
client.quota.callback.class class null
# acknowledged records would reach the disk later than it promises
log.flush.interval.ms long null
log.flush.scheduler.interval.ms long 9223372036854775807
# principals would not be what it makes of them
principal.builder.class class org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder
# records kept only in the remote tier would be missing
remote.log.storage.system.enable boolean false
# clients would not be authenticated
sasl.client.callback.handler.class class null
sasl.kerberos.principal.to.local.rules list DEFAULT
sasl.kerberos.service.name string null
sasl.login.class class null
# the providers it names would not be in force
security.providers string null
# TLS is OpenSSL's here, the Java classes that it names would not be in force
ssl.engine.factory.class class null
ssl.keymanager.algorithm string SunX509
ssl.provider string null
ssl.secure.random.implementation string null
ssl.trustmanager.algorithm string PKIX
"""


CONFIG_NAMES: Final = (*_rows(ACTED, _ACTED_TABLE), *_rows(REFUSED, _REFUSED_TABLE), *_rows(IGNORED, IGNORED_TABLE))


BY_NAME: Final = {row.name: row for row in CONFIG_NAMES}

OF_AUTHORIZER: Final = {
    "super.users": "who may everything: principals, with `;` between them",
    "allow.everyone.if.no.acl.found": "whether everybody may do what no ACL is about (false)",
}
"""Names that Kafka's authorizer reads, not Kafka itself."""

OF_PROVIDERS: Final = "config.providers."
"""Before a provider's name, and what is set for it."""

REFUSED_PREFIXES: Final = ("sasl.", "ssl.")
"""Also after `listener.name.<listener>.`; any such name is refused, whether Kafka lists it or not."""

LISTENER_PREFIX: Final = "listener.name."
OF_OAUTH: Final = ("sasl.oauthbearer.", "sasl.login.re", "sasl.login.connect.timeout.ms")
OF_LISTENERS: Final = (
    *("ssl.", "connections.max.reauth.ms", "sasl.enabled.mechanisms", "sasl.server.max.receive.size"),
    *OF_OAUTH,
)
"""What a listener may have of its own: `listener.name.<listener>.<name>`; and ON_CONNECTIONS."""
ON_CONNECTIONS: Final = ("max.connections", "max.connection.creation.rate")
"""Those that may change while a node runs."""
OF_MECHANISMS: Final = ("connections.max.reauth.ms", "sasl.jaas.config")
HANDLERS: Final = ("sasl.server.callback.handler.class", "sasl.login.callback.handler.class")
"""Of OAUTHBEARER: with the prefixes of listener and mechanism only."""
"""What a listener may have for a mechanism: `listener.name.<listener>.<mechanism>.<name>`."""
OAUTH_PREFIX: Final = "oauthbearer"
MECHANISM_PREFIXES: Final = ("plain", "scram-sha-256", "scram-sha-512", OAUTH_PREFIX)
"""Mechanisms as such names have them."""

INTERNAL_SEGMENT_BYTES: Final = "internal.metadata.log.segment.bytes"
INITIAL_TASK_DELAY: Final = "log.initial.task.delay.ms"
INTERNAL_NAMES: Final = (
    "unstable.api.versions.enable",
    "unstable.feature.versions.enable",
    INTERNAL_SEGMENT_BYTES,
    INITIAL_TASK_DELAY,
)
"""Kafka knows them and does not list them; the second one permits `kafka-storage format` to use unstable levels, the
third one makes segments that are smaller than `metadata.log.segment.bytes` may, the fourth one is how long after a
start logs are looked after first."""
INTERNAL_ROWS: Final = {
    INTERNAL_SEGMENT_BYTES: ConfigName(INTERNAL_SEGMENT_BYTES, "int", "null", ACTED, ""),
    INITIAL_TASK_DELAY: ConfigName(INITIAL_TASK_DELAY, "long", "30000", ACTED, ""),
}

HIDDEN_NAMES: Final = (
    *INTERNAL_NAMES,
    "controller.performance.always.log.threshold.ms",
    "controller.performance.sample.period.ms",
    "group.consumer.regex.refresh.interval.ms",
    "group.share.initialize.retry.interval.ms",
    "group.share.persister.class.name",
    "internal.metadata.delete.delay.millis",
    "internal.metadata.max.batch.size.in.bytes",
    "producer.id.expiration.check.interval.ms",
    "remote.log.index.file.cache.ttl.ms",
    "remote.log.manager.task.retry.backoff.max.ms",
    "remote.log.manager.task.retry.backoff.ms",
    "remote.log.manager.task.retry.jitter",
    "server.max.startup.time.ms",
    "share.coordinator.cold.partition.snapshot.interval.ms",
    "share.coordinator.state.topic.prune.interval.ms",
    "unclean.leader.election.interval.ms",
)
"""All that Kafka knows and does not list; none can change while it runs."""

TLS_AT_START: Final = "TLS is set up at start, as the file says"
GROUPS_AT_START: Final = "a group's own value is taken at once, that of all groups from the file"
LISTENER_AT_START: Final = "the settings of a listener are taken from the file, at start"
ONLY_AT_START: Final = {
    "config.providers": "providers are named by the file, at start",
    "connections.max.reauth.ms": "how long sessions last is taken from the file, at start",
    **{f"group.{kind}.assignment.interval.ms": GROUPS_AT_START for kind in ("consumer", "share", "streams")},
    "allow.everyone.if.no.acl.found": "the authorizer is configured by the file, at start",
    "listener.security.protocol.map": "listeners open at start, as the file says",
    "listeners": "listeners open at start, as the file says",
    "sasl.enabled.mechanisms": "mechanisms are taken from the file, at start",
    "sasl.jaas.config": "logins are taken from the file, at start",
    **{
        f"sasl.login.refresh.{name}": "when tokens of this node are renewed is taken from the file, at start"
        for name in ("buffer.seconds", "min.period.seconds", "window.factor", "window.jitter")
    },
    "sasl.mechanism.inter.broker.protocol": "mechanisms are taken from the file, at start",
    **{row.name: TLS_AT_START for row in CONFIG_NAMES if row.standing == ACTED and row.name.startswith("ssl.")},
    "super.users": "the authorizer is configured by the file, at start",
}
"""Kafka takes new values of these while it runs, this node does not. Others that it acts on are those of topics."""

OWN_NAMES: Final = {
    "quorate.acls": "off, or kept: ACLs are created, described, deleted for Apache Kafka's brokers, not enforced here",
    "quorate.http.listener": "HOST:PORT of /livez, /readyz and /metrics; without it there is no HTTP port",
    "quorate.insecure": "true: controllers may listen in the clear for others, tokens may be unsigned",
    "quorate.log.format": "text or json",
    "quorate.log.level": "debug, info, warning or error",
    "quorate.oauthbearer.allowed.files": "files that OAUTHBEARER may read: assertions, their keys and templates",
    "quorate.oauthbearer.allowed.urls": "URLs that OAUTHBEARER may ask or read: JWKS and token endpoints",
    "quorate.scrub.interval.ms": "pause after each MiB of the metadata directory read in search of bit rot; 0: never",
}
"""Names of ours. The environment variables QUORATE_ACLS, QUORATE_HTTP_LISTENER, QUORATE_INSECURE and so on give their defaults."""
