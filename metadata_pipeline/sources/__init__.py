"""Reading metadata logs and snapshots as Arrow batches, without Spark.

    for batch in read_records(["/var/lib/kafka/metadata"], ReadOptions()):
        ...

`segments` lists what lies below a path, `reading` turns files into Arrow batches of the two schemas, `packing` cuts the
files into tasks.
"""
