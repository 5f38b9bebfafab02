"""What a `KRaftCluster` says, as trusted values: `parse` makes them, `spec` are they, `names` are for ever."""
