"""What runs: children that are applied, revisions on trial, restarts in order, versions made final."""
