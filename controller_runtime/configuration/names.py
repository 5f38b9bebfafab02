"""Every configuration name of Apache Kafka 4.3.1, and what this node does with it: data, no code.

A name is acted on, refused or ignored. Refused: ignoring it would weaken security or durability, so a node that finds
it set to anything but Kafka's default does not start. Ignored: harmless, listed at start with the reason.
`docs/compatibility.md` is generated from these rows, and a test compares them with the names and defaults that Kafka's
own classes report.
"""

from __future__ import annotations

from typing import Final, NamedTuple

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
auto.create.topics.enable boolean true
broker.heartbeat.interval.ms int 2000
broker.id int -1
broker.rack string null
broker.session.timeout.ms int 9000
compression.type string producer
connections.max.idle.ms long 600000
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
default.replication.factor int 1
delete.topic.enable boolean true
initial.broker.registration.timeout.ms int 60000
inter.broker.listener.name string null
listener.security.protocol.map string SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
listeners list PLAINTEXT://:9092
log.dir list /tmp/kafka-logs
log.dirs list null
log.index.interval.bytes int 4096
log.message.timestamp.after.max.ms long 3600000
log.message.timestamp.before.max.ms long 9223372036854775807
log.message.timestamp.type string CreateTime
log.roll.hours int 168
log.roll.ms long null
log.segment.bytes int 1073741824
max.connections int 2147483647
max.connections.per.ip int 2147483647
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
process.roles list REQUIRED
queued.max.request.bytes long -1
socket.connection.setup.timeout.ms long 10000
socket.listen.backlog.size int 50
socket.receive.buffer.bytes int 102400
socket.request.max.bytes int 104857600
socket.send.buffer.bytes int 102400
"""

_REFUSED_TABLE: Final = """
# the policy it names would not be enforced
alter.config.policy.class.name class null
create.topic.policy.class.name class null
# requests would be served without the authorization it asks for
authorizer.class.name string
# the limits it imposes would not hold
client.quota.callback.class class null
# values such as ${...} would be taken literally
config.providers list
# sessions would outlive their credentials
connections.max.reauth.ms long 0
# tokens made with it would not be checked
delegation.token.secret.key password null
# acknowledged records would reach the disk later than it promises
log.flush.interval.messages long 9223372036854775807
log.flush.interval.ms long null
log.flush.scheduler.interval.ms long 9223372036854775807
# the limit on new connections would not hold
max.connection.creation.rate int 2147483647
# the limits on connections would not hold
max.connections.per.ip.overrides string
# principals would not be what it makes of them
principal.builder.class class org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder
# records kept only in the remote tier would be missing
remote.log.storage.system.enable boolean false
# clients would not be authenticated
sasl.client.callback.handler.class class null
sasl.enabled.mechanisms list GSSAPI
sasl.jaas.config password null
sasl.kerberos.kinit.cmd string /usr/bin/kinit
sasl.kerberos.min.time.before.relogin long 60000
sasl.kerberos.principal.to.local.rules list DEFAULT
sasl.kerberos.service.name string null
sasl.kerberos.ticket.renew.jitter double 0.05
sasl.kerberos.ticket.renew.window.factor double 0.8
sasl.login.callback.handler.class class null
sasl.login.class class null
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
# traffic between brokers would be in the clear
security.inter.broker.protocol string PLAINTEXT
# the providers it names would not be in force
security.providers string null
# traffic would be in the clear
ssl.allow.dn.changes boolean false
ssl.allow.san.changes boolean false
ssl.cipher.suites list
ssl.client.auth string none
ssl.enabled.protocols list TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm string https
ssl.engine.factory.class class null
ssl.key.password password null
ssl.keymanager.algorithm string SunX509
ssl.keystore.certificate.chain password null
ssl.keystore.key password null
ssl.keystore.location string null
ssl.keystore.password password null
ssl.keystore.type string JKS
ssl.principal.mapping.rules string DEFAULT
ssl.protocol string TLSv1.3
ssl.provider string null
ssl.secure.random.implementation string null
ssl.trustmanager.algorithm string PKIX
ssl.truststore.certificates password null
ssl.truststore.location string null
ssl.truststore.password password null
ssl.truststore.type string JKS
"""

_IGNORED_TABLE: Final = """
# transactions are not served yet
add.partitions.to.txn.retry.backoff.max.ms int 100
add.partitions.to.txn.retry.backoff.ms int 20
producer.purgatory.purge.interval.requests int 1000
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
# quotas are not applied yet
alter.log.dirs.replication.quota.window.num int 11
alter.log.dirs.replication.quota.window.size.seconds int 1
controller.quota.window.num int 11
controller.quota.window.size.seconds int 1
quota.window.num int 11
quota.window.size.seconds int 1
replication.quota.window.num int 11
replication.quota.window.size.seconds int 1
# a partition has one replica: there is no other leader to choose
auto.leader.rebalance.enable boolean true
leader.imbalance.check.interval.seconds long 300
unclean.leader.election.enable boolean false
# one event loop serves all; a connection has one request in progress
background.threads int 10
num.io.threads int 8
num.network.threads int 3
num.recovery.threads.per.data.dir int 2
queued.max.requests int 500
# records are stored as the producer compressed them
compression.gzip.level int -1
compression.lz4.level int 9
compression.zstd.level int 3
# there is no authentication that could fail
connection.failed.authentication.delay.ms int 100
# a stop is always under control
controlled.shutdown.enable boolean true
# there are no such coordinators
group.coordinator.append.linger.ms int -1
share.coordinator.append.linger.ms int -1
# requests to controllers use controller.quorum.request.timeout.ms
controller.socket.timeout.ms int 30000
request.timeout.ms int 30000
# a failed log directory stops the node
cordoned.log.dirs list
log.dir.failure.timeout.ms long 30000
# delegation tokens are not served yet
delegation.token.expiry.check.interval.ms long 3600000
delegation.token.expiry.time.ms long 86400000
delegation.token.max.lifetime.ms long 604800000
# waiting requests are woken by what they wait for, nothing is purged
delete.records.purgatory.purge.interval.requests int 1
fetch.purgatory.purge.interval.requests int 1000
# every listener opens as soon as the log is loaded
early.start.listeners list null
# an answer holds at most Kafka's default
fetch.max.bytes int 57671680
# there is no tiered storage
follower.fetch.last.tiered.offset.enable boolean false
log.local.retention.bytes long -2
log.local.retention.ms long -2
remote.fetch.max.wait.ms int 500
remote.list.offsets.request.timeout.ms long 30000
remote.log.index.file.cache.total.size.bytes long 1073741824
remote.log.manager.copier.thread.pool.size int 10
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807
remote.log.manager.copy.quota.window.num int 11
remote.log.manager.copy.quota.window.size.seconds int 1
remote.log.manager.expiration.thread.pool.size int 10
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807
remote.log.manager.fetch.quota.window.num int 11
remote.log.manager.fetch.quota.window.size.seconds int 1
remote.log.manager.follower.thread.pool.size int 2
remote.log.manager.task.interval.ms long 30000
remote.log.manager.thread.pool.size int 2
remote.log.metadata.custom.metadata.max.bytes int 128
remote.log.metadata.manager.class.name string org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager
remote.log.metadata.manager.class.path string null
remote.log.metadata.manager.impl.prefix string rlmm.config.
remote.log.metadata.manager.listener.name string null
remote.log.reader.max.pending.tasks int 100
remote.log.reader.threads int 10
remote.log.storage.manager.class.name string null
remote.log.storage.manager.class.path string null
remote.log.storage.manager.impl.prefix string rsm.config.
# consumer groups are not served yet
group.consumer.assignment.interval.ms int 1000
group.consumer.assignors list uniform,range
group.consumer.heartbeat.interval.ms int 5000
group.consumer.max.assignment.interval.ms int 15000
group.consumer.max.heartbeat.interval.ms int 15000
group.consumer.max.session.timeout.ms int 60000
group.consumer.max.size int 2147483647
group.consumer.migration.policy string bidirectional
group.consumer.min.assignment.interval.ms int 0
group.consumer.min.heartbeat.interval.ms int 5000
group.consumer.min.session.timeout.ms int 45000
group.consumer.session.timeout.ms int 45000
group.coordinator.background.threads int 2
group.coordinator.cached.buffer.max.bytes int 1048588
group.coordinator.rebalance.protocols list classic,consumer,streams
group.coordinator.threads int 4
group.initial.rebalance.delay.ms int 3000
group.max.session.timeout.ms int 1800000
group.max.size int 2147483647
group.min.session.timeout.ms int 6000
offset.metadata.max.bytes int 4096
offsets.commit.timeout.ms int 5000
offsets.load.buffer.size int 5242880
offsets.retention.check.interval.ms long 600000
offsets.retention.minutes int 10080
offsets.topic.compression.codec int 0
offsets.topic.num.partitions int 50
offsets.topic.replication.factor short 3
offsets.topic.segment.bytes int 104857600
# share groups are not served yet
group.share.assignment.interval.ms int 1000
group.share.assignors list simple
group.share.delivery.count.limit int 5
group.share.heartbeat.interval.ms int 5000
group.share.max.assignment.interval.ms int 15000
group.share.max.delivery.count.limit int 10
group.share.max.heartbeat.interval.ms int 15000
group.share.max.partition.max.record.locks int 4000
group.share.max.record.lock.duration.ms int 60000
group.share.max.session.timeout.ms int 60000
group.share.max.share.sessions int 2000
group.share.max.size int 200
group.share.min.assignment.interval.ms int 0
group.share.min.delivery.count.limit int 2
group.share.min.heartbeat.interval.ms int 5000
group.share.min.partition.max.record.locks int 100
group.share.min.record.lock.duration.ms int 15000
group.share.min.session.timeout.ms int 45000
group.share.partition.max.record.locks int 2000
group.share.record.lock.duration.ms int 30000
group.share.session.timeout.ms int 45000
share.coordinator.cached.buffer.max.bytes int 1048588
share.coordinator.load.buffer.size int 5242880
share.coordinator.snapshot.update.records.per.snapshot int 500
share.coordinator.state.topic.compression.codec int 0
share.coordinator.state.topic.min.isr short 2
share.coordinator.state.topic.num.partitions int 50
share.coordinator.state.topic.replication.factor short 3
share.coordinator.state.topic.segment.bytes int 104857600
share.coordinator.threads int 1
share.coordinator.write.timeout.ms int 5000
share.fetch.purgatory.purge.interval.requests int 1000
# streams groups are not served yet
group.streams.assignment.interval.ms int 1000
group.streams.heartbeat.interval.ms int 5000
group.streams.initial.rebalance.delay.ms int 3000
group.streams.max.assignment.interval.ms int 15000
group.streams.max.heartbeat.interval.ms int 15000
group.streams.max.session.timeout.ms int 60000
group.streams.max.size int 2147483647
group.streams.max.standby.replicas int 2
group.streams.min.assignment.interval.ms int 0
group.streams.min.heartbeat.interval.ms int 5000
group.streams.min.session.timeout.ms int 45000
group.streams.num.standby.replicas int 0
group.streams.session.timeout.ms int 45000
# metrics are read at the HTTP port only
kafka.metrics.polling.interval.secs int 10
kafka.metrics.reporters list
metric.reporters list org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples int 2
metrics.recording.level string INFO
metrics.sample.window.ms long 30000
telemetry.max.bytes int 1048576
# records are neither compacted nor deleted yet
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
log.cleaner.threads int 1
log.cleanup.policy list delete
# checkpoints are written when they change, not by a timer
log.flush.offset.checkpoint.interval.ms int 60000
log.flush.start.offset.checkpoint.interval.ms int 60000
replica.high.watermark.checkpoint.interval.ms long 5000
# indexes grow with their segment
log.index.size.max.bytes int 10485760
# segments grow as they are written
log.preallocate boolean false
# records are not deleted yet
log.retention.bytes long -1
log.retention.check.interval.ms long 300000
log.retention.hours int 168
log.retention.minutes int null
log.retention.ms long null
log.segment.delete.delay.ms long 60000
# segments roll without jitter
log.roll.jitter.hours int 0
log.roll.jitter.ms long null
# fetches are answered without sessions
max.incremental.fetch.session.cache.slots int 1000
# every partition of a request is answered
max.request.partition.size.limit int 2000
# replicas of other brokers are not fetched yet
num.replica.alter.log.dirs.threads int null
num.replica.fetchers int 1
replica.fetch.backoff.ms int 1000
replica.fetch.max.bytes int 1048576
replica.fetch.min.bytes int 1
replica.fetch.response.max.bytes int 10485760
replica.fetch.wait.max.ms int 500
replica.lag.time.max.ms long 30000
replica.selector.class string null
replica.socket.receive.buffer.bytes int 65536
replica.socket.timeout.ms int 30000
# producer ids do not expire yet
producer.id.expiration.ms int 86400000
# the time for setting up a connection does not grow
socket.connection.setup.timeout.max.ms long 30000
"""

CONFIG_NAMES: Final = (*_rows(ACTED, _ACTED_TABLE), *_rows(REFUSED, _REFUSED_TABLE), *_rows(IGNORED, _IGNORED_TABLE))


BY_NAME: Final = {row.name: row for row in CONFIG_NAMES}

EXTRA_REFUSED: Final = {
    "super.users": "the rights it grants have no authorizer behind them",
    "allow.everyone.if.no.acl.found": "the rule it sets has no authorizer behind it",
}
"""Names that plug-ins of Kafka read, not Kafka itself."""

REFUSED_PREFIXES: Final = ("sasl.", "ssl.")
"""Also after `listener.name.<listener>.`; any such name is refused, whether Kafka lists it or not."""

INTERNAL_SEGMENT_BYTES: Final = "internal.metadata.log.segment.bytes"
INTERNAL_NAMES: Final = ("unstable.api.versions.enable", "unstable.feature.versions.enable", INTERNAL_SEGMENT_BYTES)
"""Kafka knows them and does not list them; the second one permits `kafka-storage format` to use unstable levels, the
third one makes segments that are smaller than `metadata.log.segment.bytes` may."""
INTERNAL_ROWS: Final = {INTERNAL_SEGMENT_BYTES: ConfigName(INTERNAL_SEGMENT_BYTES, "int", "null", ACTED, "")}

HIDDEN_NAMES: Final = (
    *INTERNAL_NAMES,
    "controller.performance.always.log.threshold.ms",
    "controller.performance.sample.period.ms",
    "group.consumer.regex.refresh.interval.ms",
    "group.share.initialize.retry.interval.ms",
    "group.share.persister.class.name",
    "internal.metadata.delete.delay.millis",
    "internal.metadata.log.segment.bytes",
    "internal.metadata.max.batch.size.in.bytes",
    "log.initial.task.delay.ms",
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

ONLY_AT_START: Final = {
    "listener.security.protocol.map": "listeners open at start, as the file says",
    "listeners": "listeners open at start, as the file says",
    "max.connections": "the limit is taken from the file, at start",
    "max.connections.per.ip": "the limit is taken from the file, at start",
}
"""Kafka takes new values of these while it runs, this node does not. Of others that it acts on, topics take the new
value.
"""

OWN_NAMES: Final = {
    "quorate.http.listener": "HOST:PORT of /livez, /readyz and /metrics; without it there is no HTTP port",
    "quorate.log.format": "text or json",
    "quorate.log.level": "debug, info, warning or error",
    "quorate.scrub.interval.ms": "between two slices (1 MiB) of the metadata directory that are read again, to find bit rot; 0: never",
}
"""Names of ours. The environment variables QUORATE_HTTP_LISTENER, QUORATE_LOG_FORMAT and so on give their defaults."""
