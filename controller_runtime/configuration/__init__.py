"""What a node is configured with: names of configurations, the properties file, what is made of it."""
