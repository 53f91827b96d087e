"""Programs of a few objects, right and wrong, by the subject of the rule that tells them apart."""

from tests.policy.programs import (
    daemons,
    ends,
    fabric,
    owners,
    references,
    rendezvous,
    rights,
    services,
    serving,
    standing,
    starts,
    traffic,
    training,
    volumes,
)

SUBJECTS = (
    training,
    rendezvous,
    fabric,
    serving,
    volumes,
    services,
    traffic,
    owners,
    ends,
    references,
    daemons,
    starts,
    rights,
    standing,
)
PROGRAMS = [program for subject in SUBJECTS for program in subject.PROGRAMS]
