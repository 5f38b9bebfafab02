"""Registers `spark.read.format("kraftlog")`: Spark finds modules called `pyspark_*` by itself."""
