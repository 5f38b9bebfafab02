"""The Spark data source `kraftlog`: batch and stream readers over `sources`. Spark finds it through the package
`pyspark_kraft`.
"""
