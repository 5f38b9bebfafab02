"""All invariants, new for one run."""

from __future__ import annotations

from simulation.invariants.acknowledged_is_readable import AcknowledgedIsReadable
from simulation.invariants.answers_are_committed import AnswersAreCommitted
from simulation.invariants.broker_epochs import BrokerEpochs
from simulation.invariants.committed_stays import CommittedStays
from simulation.invariants.convergence import Convergence
from simulation.invariants.durable_majority import DurableMajority
from simulation.invariants.elected_by_votes import ElectedByVotes
from simulation.invariants.election_safety import ElectionSafety
from simulation.invariants.epochs_fit_log import EpochsFitLog
from simulation.invariants.fenced_serves_nothing import FencedServesNothing
from simulation.invariants.flushed_is_durable import FlushedIsDurable
from simulation.invariants.high_watermark import HighWatermark
from simulation.invariants.leader_completeness import LeaderCompleteness
from simulation.invariants.leads_with_majority import LeadsWithMajority
from simulation.invariants.leaves_when_let_go import LeavesWhenLetGo
from simulation.invariants.log_agreement import LogAgreement
from simulation.invariants.own_epoch_first import OwnEpochFirst
from simulation.invariants.persisted_epoch import PersistedEpoch
from simulation.invariants.roles_fit import RolesFit
from simulation.invariants.serves_what_was_written import ServesWhatWasWritten
from simulation.invariants.snapshot_agreement import SnapshotAgreement
from simulation.invariants.snapshots import Snapshots
from simulation.invariants.unfences_caught_up import UnfencesCaughtUp
from simulation.invariants.unfences_recovered import UnfencesRecovered
from simulation.invariants.vote_promise import VotePromise
from simulation.invariants.vote_remembered import VoteRemembered
from simulation.invariants.voter_changes import VoterChanges
from support.simulation.world import Invariant


def every_invariant() -> list[Invariant]:
    return [
        ElectionSafety(),
        PersistedEpoch(),
        HighWatermark(),
        DurableMajority(),
        FlushedIsDurable(),
        CommittedStays(),
        LeaderCompleteness(),
        OwnEpochFirst(),
        LogAgreement(),
        LeadsWithMajority(),
        Snapshots(),
        SnapshotAgreement(),
        RolesFit(),
        VoterChanges(),
        VotePromise(),
        VoteRemembered(),
        ElectedByVotes(),
        EpochsFitLog(),
        ServesWhatWasWritten(),
        AnswersAreCommitted(),
        AcknowledgedIsReadable(),
        FencedServesNothing(),
        UnfencesCaughtUp(),
        UnfencesRecovered(),
        LeavesWhenLetGo(),
        BrokerEpochs(),
        Convergence(),
    ]
