"""Partitions that groups share (KIP-932), as their leader decides: who may have which record, how often, how long, and
what became of it. Pure: records are read, states are kept by the share coordinator, and time passes, elsewhere.

settings       what the node's configuration and a group's say, with Kafka's names and defaults
records        the state of one record, or of a batch of them, and what a change that was not kept goes back to
window         batches in flight, in the order of their offsets
locks          acquisition locks, and which of them are due
partition      one share partition: from where to where, what is fetched next, changes that were kept or not
reads          what was read, batch by batch, and what a member has of it
acquiring      records that were read go to a member
acknowledging  what a member says of records, what it leaves behind, locks that are due
aborted        records of aborted transactions among those that were read
judging        acknowledgements of a request, before anybody looks for their records
sessions       share sessions: what a member wants of each partition, and its next epoch
"""
