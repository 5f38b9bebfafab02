"""One-shot operations: what is asked (`operation`), what is said of it (`telling`), and what copies of a log prove
(`verdict`). Pure.
"""
