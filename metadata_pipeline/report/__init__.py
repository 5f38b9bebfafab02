"""The report: one HTML page with its pictures inside, and the same as JSON.

`data` asks the tables for numbers, `svg` draws them, `page` puts them into words; `job` writes both files. Only `data`
knows Spark; page and pictures are pure, need no network and no script, and escape whatever comes from a log.
"""
