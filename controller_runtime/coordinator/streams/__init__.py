"""Groups of Kafka Streams (KIP-1071): decisions over values, as those of consumers and of sharers."""
