"""What `kraft-pipeline` does, as functions for notebooks: `ingest`, `build_tables`, `audit`, `report`, `diff`.

Each takes a lake (a directory) and a Spark session, does its work and makes one commit; a job that dies leaves the lake
as it was.
"""
