"""Questions with a name: `kraft-pipeline ask`.

`questions` says what is asked, as SQL over the lake's tables (pure); `command` reads the command line, asks, and prints
a table, CSV or JSON.
"""
