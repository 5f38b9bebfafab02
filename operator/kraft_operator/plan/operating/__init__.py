"""KRaftOperations: which one runs, why one does not start, what is said of each."""
