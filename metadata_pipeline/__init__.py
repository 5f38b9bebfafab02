"""A fleet's KRaft metadata logs as tables: sources read and decode, jobs build tables, audits and reports on top.

`sources` needs numpy and pyarrow only; Spark is met in `spark_source` and in the jobs. The runtime never imports this
package.
"""
