"""The lake: Parquet files, and a log of commits that says which of them count.

`commits` is the log, `entries` what a commit says, `state` what the commits say together, `files` how a file comes to
be, `vacuum` how orphans go, `reading` how Spark reads a table. Files are named in the log or do not exist: nobody lists
a directory to learn what a table holds.
"""
