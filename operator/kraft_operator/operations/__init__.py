"""One-shot operations: what is asked (`operation`), what is reported of it (`operation_report`), and what copies of a
log prove (`verdict`). Pure.
"""
