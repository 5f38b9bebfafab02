"""A lake that lives in an object store: `--output s3://bucket/lake`.

`bucket` speaks to the store; `mirror` brings the lake here before a job and what the job committed back behind it. The
store's log of commits decides: commit N is made by a put that only succeeds where there is none.
"""
