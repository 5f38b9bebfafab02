"""The group coordinator: consumer groups and their committed offsets, over the partitions of `__consumer_offsets`."""
