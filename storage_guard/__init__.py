"""What may happen to a volume, decided from what lies on it, what the ledger knows, and a grant; runs in init
containers.

`formats` are the words exchanged with the operator; `facts` what is known, `judge` and `passage` the two decisions,
pure; `volume` and `pod` read and write; `steps` are the three guards, `__main__` waits.
"""
