"""How partitions are kept on several brokers: what a leader knows of its followers, and what a follower does."""
