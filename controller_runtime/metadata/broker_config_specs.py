"""A broker's configurations that can change while it runs: types, limits and defaults of Apache Kafka 4.3.1, as its own
classes report them (`DynamicBrokerConfig`, `AbstractKafkaConfig`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from controller_runtime.metadata.config_values import ConfigSpec, ConfigType

_OF_ALL: Final = """
background.threads int 1.. 10
compression.gzip.level int 1..9|-1 -1
compression.lz4.level int 1..17 9
compression.type string =uncompressed,zstd,lz4,snappy,gzip,producer producer
compression.zstd.level int -131072..22 3
config.providers list -
follower.fetch.last.tiered.offset.enable boolean - false
follower.replication.throttled.rate long 0.. 9223372036854775807
group.consumer.assignment.interval.ms int 0.. 1000
group.coordinator.cached.buffer.max.bytes int 524288.. 1048588
group.share.assignment.interval.ms int 0.. 1000
group.streams.assignment.interval.ms int 0.. 1000
leader.replication.throttled.rate long 0.. 9223372036854775807
log.cleaner.backoff.ms long 0.. 15000
log.cleaner.dedupe.buffer.size long - 134217728
log.cleaner.delete.retention.ms long 0.. 86400000
log.cleaner.io.buffer.load.factor double - 0.9
log.cleaner.io.buffer.size int 0.. 524288
log.cleaner.io.max.bytes.per.second double - 1.7976931348623157E308
log.cleaner.max.compaction.lag.ms long 1.. 9223372036854775807
log.cleaner.min.cleanable.ratio double 0..1 0.5
log.cleaner.min.compaction.lag.ms long 0.. 0
log.cleaner.threads int 0.. 1
log.cleanup.policy list =compact,delete delete
log.flush.interval.messages long 1.. 9223372036854775807
log.flush.interval.ms long - null
log.index.interval.bytes int 0.. 4096
log.index.size.max.bytes int 4.. 10485760
log.local.retention.bytes long -2.. -2
log.local.retention.ms long -2.. -2
log.message.timestamp.after.max.ms long 0.. 3600000
log.message.timestamp.before.max.ms long 0.. 9223372036854775807
log.message.timestamp.type string =CreateTime,LogAppendTime CreateTime
log.preallocate boolean - false
log.retention.bytes long - -1
log.retention.ms long - null
log.roll.jitter.ms long - null
log.roll.ms long - null
log.segment.bytes int 1048576.. 1073741824
log.segment.delete.delay.ms long 0.. 60000
max.connection.creation.rate int 0.. 2147483647
max.connections int 0.. 2147483647
max.connections.per.ip int 0.. 2147483647
max.connections.per.ip.overrides string -
message.max.bytes int 0.. 1048588
metric.reporters list - org.apache.kafka.common.metrics.JmxReporter
min.insync.replicas int 1.. 1
num.io.threads int 1.. 8
num.network.threads int 1.. 3
num.recovery.threads.per.data.dir int 1.. 2
num.replica.fetchers int 1.. 1
producer.id.expiration.ms int 1.. 86400000
remote.fetch.max.wait.ms int 1.. 500
remote.list.offsets.request.timeout.ms long 1.. 30000
remote.log.index.file.cache.total.size.bytes long 1.. 1073741824
remote.log.manager.copier.thread.pool.size int 1.. 10
remote.log.manager.copy.max.bytes.per.second long 1.. 9223372036854775807
remote.log.manager.expiration.thread.pool.size int 1.. 10
remote.log.manager.fetch.max.bytes.per.second long 1.. 9223372036854775807
remote.log.manager.follower.thread.pool.size int 1.. 2
remote.log.reader.threads int 1.. 10
replica.alter.log.dirs.io.max.bytes.per.second long 0.. 9223372036854775807
share.coordinator.cached.buffer.max.bytes int 524288.. 1048588
transaction.partition.verification.enable boolean - true
unclean.leader.election.enable boolean - false
"""
"""Name, type, limits (`-`: none), default. May be set for one broker or for all."""


_OF_ONE: Final = """
cordoned.log.dirs list -
listener.security.protocol.map string - SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
listeners list - PLAINTEXT://:9092
principal.builder.class class - org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder
sasl.enabled.mechanisms list - GSSAPI
sasl.jaas.config password - null
sasl.kerberos.kinit.cmd string - /usr/bin/kinit
sasl.kerberos.min.time.before.relogin long - 60000
sasl.kerberos.principal.to.local.rules list - DEFAULT
sasl.kerberos.service.name string - null
sasl.kerberos.ticket.renew.jitter double - 0.05
sasl.kerberos.ticket.renew.window.factor double - 0.8
sasl.login.refresh.buffer.seconds short - 300
sasl.login.refresh.min.period.seconds short - 60
sasl.login.refresh.window.factor double - 0.8
sasl.login.refresh.window.jitter double - 0.05
sasl.mechanism.inter.broker.protocol string - GSSAPI
ssl.cipher.suites list -
ssl.client.auth string =required,requested,none none
ssl.enabled.protocols list - TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm string - https
ssl.engine.factory.class class - null
ssl.key.password password - null
ssl.keymanager.algorithm string - SunX509
ssl.keystore.certificate.chain password - null
ssl.keystore.key password - null
ssl.keystore.location string - null
ssl.keystore.password password - null
ssl.keystore.type string - JKS
ssl.protocol string - TLSv1.3
ssl.provider string - null
ssl.secure.random.implementation string - null
ssl.trustmanager.algorithm string - PKIX
ssl.truststore.certificates password - null
ssl.truststore.location string - null
ssl.truststore.password password - null
ssl.truststore.type string - JKS
"""
"""For one broker only."""


NAMES_OF_ONE: Final = frozenset(line.partition(" ")[0] for line in _OF_ONE.strip().split("\n"))


@cache
def specs() -> Mapping[str, ConfigSpec]:
    return {spec.name: spec for spec in map(_spec, f"{_OF_ALL}{_OF_ONE}".split("\n")) if spec}


def _spec(line: str) -> ConfigSpec | None:
    if not line:
        return None
    name, kind, limits, default, *_ = [*line.split(), ""]
    low, dots, high = limits.partition("..")
    high, _, other = high.partition("|")
    return ConfigSpec(
        name,
        ConfigType[kind.upper()],
        default,
        at_least=int(low) if dots else None,
        at_most=int(high) if high else None,
        one_of=tuple(limits[1:].split(",")) if limits.startswith("=") else (),
        or_equal_to=int(other) if other else None,
        items_not_empty=name != "config.providers",
    )
