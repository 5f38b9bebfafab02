"""Audit: do the copies of one log agree, is each of them whole, and does the history keep the promises of KRaft?

`findings` is what an audit says. `copies` judges each disk from the lake's commits, `batches` compares batches across
disks, `history` checks the committed records, `snapshots` compares every snapshot with the log it replaces. `job` runs
them and commits the table `findings`.
"""
