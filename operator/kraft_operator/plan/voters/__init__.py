"""Who votes: voters lost, added, removed, found again; the arithmetic that permits it."""
