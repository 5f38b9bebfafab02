"""Histories of faults on real processes: three brokers in networks and on disks of their own are killed, frozen, cut
off and run out of disk, while a queue is written and a bank carries out what it says. Then both are audited.

`plan` (pure) draws what happens, `machines` are the processes and what can befall them, `clients` write and read,
a `banker` carries out (all librdkafka), `verdict` (pure) says what is wrong with what was found, `telling` tells a
history. Beside the tests:

    python -m support.fault_histories --histories 200 --seed 1
"""
