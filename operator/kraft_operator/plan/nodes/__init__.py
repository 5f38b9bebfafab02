"""Which nodes exist: brokers that join, drain and leave, what is registered, how nodes are reached."""
