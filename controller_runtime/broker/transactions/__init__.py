"""Transactions on a broker: their coordinator's partitions, markers both ways, and what producers are verified with."""
