"""What the process shows of itself: facts, metrics, probes, logs, traces."""
