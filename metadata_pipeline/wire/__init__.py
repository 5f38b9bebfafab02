"""Metadata logs of living quorums, read from their leaders by somebody who is no replica.

`fleet` says which quorums, and how they are reached; `leader` asks them, with Fetch and FetchSnapshot alone; `spool`
keeps what came as files in Kafka's own form for as long as a job reads them. The only part of the pipeline that knows
the runtime's clients.
"""
