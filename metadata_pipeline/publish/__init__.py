"""The lake's tables in a format that other engines read: `kraft-pipeline publish`."""
