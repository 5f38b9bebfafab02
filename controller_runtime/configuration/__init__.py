"""What a node is told at start: names of configurations, the properties file, what is made of it."""
