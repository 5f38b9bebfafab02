"""Who of a group reads what: the assignors of Apache Kafka's coordinator."""
