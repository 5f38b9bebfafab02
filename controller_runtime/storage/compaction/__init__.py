"""Compaction of a partition's log: the last record of each key stays, as Apache Kafka's cleaner keeps it.

What is cleaned and what survives is decided by values and bytes (`cleanable`, `transactions`, `batch_filter`); reading,
writing and changing the segments of a log is `cleaning`, in pieces, and `swaps` ends what a crash has interrupted.
"""
