"""Names that a node takes and does not act on, each group with its reason; the form is that of `names`."""

from __future__ import annotations

from typing import Final

IGNORED_TABLE: Final = """
# who adds partitions while a transaction ends is told so at once, and asks again
add.partitions.to.txn.retry.backoff.max.ms int 100
add.partitions.to.txn.retry.backoff.ms int 20
# nobody waits in a purgatory longer than he has to
producer.purgatory.purge.interval.requests int 1000
# topics and the dynamic configuration of all brokers say it; the file of one node has no say over others' topics
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
# a login module is one listener's and mechanism's: listener.name.<listener>.<mechanism>.sasl.jaas.config
sasl.jaas.config password null
# how often a ticket is renewed: there is no Kerberos, the mechanism GSSAPI is refused
sasl.kerberos.kinit.cmd string /usr/bin/kinit
sasl.kerberos.min.time.before.relogin long 60000
sasl.kerberos.ticket.renew.jitter double 0.05
sasl.kerberos.ticket.renew.window.factor double 0.8
# a stop is always under control
controlled.shutdown.enable boolean true
# there are no such coordinators
group.coordinator.append.linger.ms int -1
share.coordinator.append.linger.ms int -1
# requests to controllers use controller.quorum.request.timeout.ms
controller.socket.timeout.ms int 30000
# requests to controllers use controller.quorum.request.timeout.ms; markers of transactions are sent with it
request.timeout.ms int 30000
# waiting requests are woken by what they wait for, nothing is purged
delete.records.purgatory.purge.interval.requests int 1
fetch.purgatory.purge.interval.requests int 1000
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
# bounds of what a group sets for itself: whoever records that checks it
group.consumer.max.assignment.interval.ms int 15000
group.consumer.max.heartbeat.interval.ms int 15000
group.consumer.max.session.timeout.ms int 60000
group.consumer.min.assignment.interval.ms int 0
group.consumer.min.heartbeat.interval.ms int 5000
group.consumer.min.session.timeout.ms int 45000
group.streams.max.assignment.interval.ms int 15000
group.streams.max.heartbeat.interval.ms int 15000
group.streams.max.session.timeout.ms int 60000
group.streams.max.standby.replicas int 2
group.streams.min.assignment.interval.ms int 0
group.streams.min.heartbeat.interval.ms int 5000
group.streams.min.session.timeout.ms int 45000
# one event loop coordinates all groups
group.coordinator.background.threads int 2
group.coordinator.cached.buffer.max.bytes int 1048588
group.coordinator.threads int 4
share.coordinator.cached.buffer.max.bytes int 1048588
share.coordinator.threads int 1
# states of share groups are small: they are written without a codec
share.coordinator.state.topic.compression.codec int 0
# not looked at but as bounds of what groups are configured
group.share.assignors list simple
group.share.max.assignment.interval.ms int 15000
group.share.max.delivery.count.limit int 10
group.share.max.heartbeat.interval.ms int 15000
group.share.max.partition.max.record.locks int 4000
group.share.max.record.lock.duration.ms int 60000
group.share.max.session.timeout.ms int 60000
group.share.min.assignment.interval.ms int 0
group.share.min.delivery.count.limit int 2
group.share.min.heartbeat.interval.ms int 5000
group.share.min.partition.max.record.locks int 100
group.share.min.record.lock.duration.ms int 15000
group.share.min.session.timeout.ms int 45000
share.fetch.purgatory.purge.interval.requests int 1000
# metrics are read at the HTTP port only
kafka.metrics.polling.interval.secs int 10
kafka.metrics.reporters list
metric.reporters list org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples int 2
metrics.recording.level string INFO
metrics.sample.window.ms long 30000
telemetry.max.bytes int 1048576
# each log directory has one thread, which cleans its logs, too
log.cleaner.threads int 1
# checkpoints are written when they change, not by a timer
log.flush.offset.checkpoint.interval.ms int 60000
log.flush.start.offset.checkpoint.interval.ms int 60000
replica.high.watermark.checkpoint.interval.ms long 5000
# segments grow as they are written
log.preallocate boolean false
# segments roll without jitter
log.roll.jitter.hours int 0
log.roll.jitter.ms long null
# every partition of a request is answered
max.request.partition.size.limit int 2000
# one conversation with each broker that leads what is followed here
num.replica.fetchers int 1
replica.socket.receive.buffer.bytes int 65536
replica.socket.timeout.ms int 30000
# a few moves between directories are under way at once; the threads of the directories do them
num.replica.alter.log.dirs.threads int null
# ssl.enabled.protocols says which versions of TLS are spoken
ssl.protocol string TLSv1.3
# the time for setting up a connection does not grow
socket.connection.setup.timeout.max.ms long 30000
"""
