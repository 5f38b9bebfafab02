"""The history of a cluster as tables with validity: what was so from which record on until which.

`committed` prepares the committed records of all clusters once; `intervals` is the SQL that turns puts, merges and
deletes into intervals; `entities`, `partitions` and `quorum` say for each table which records mean what; `build` runs
them; `as_of` asks them.
"""
