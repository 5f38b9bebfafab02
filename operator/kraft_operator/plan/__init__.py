"""What to do next, decided from values only.

`plan(situation)` runs an ordered tuple of rules (`rules.RULES`); the order is the policy. No rule calls an API, reads a
clock or rolls dice: random ids come from `Situation.draw`. The same situation always gives the same decision, apart
from the ids drawn.
"""
