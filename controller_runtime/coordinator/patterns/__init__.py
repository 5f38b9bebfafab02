"""Regular expressions of RE2 over names of topics, in time linear in the name."""
