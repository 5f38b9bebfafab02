"""Transactions over the partitions of `__transaction_state`: what becomes of one, its records, and what is due."""
