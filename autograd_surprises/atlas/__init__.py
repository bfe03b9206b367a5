"""The gradient atlas: what autograd returns for every elementwise operation of torch, measured.

At each kink, jump and edge of the domain, at 0, infinity and NaN, beside the slope by finite
differences of the values. Measured with every torch from 2.6 on.

atlas        the numbers of one version, by default the installed one
atlas_table  operations of one name or class, as a table
changes      what differs between two versions
Operation    a line of code such as "torch.clamp(x, -1, 1)" that can be called
measure      measures an operation; measure_tie several inputs that tie

Inside, each imports only those above it:

point             where something was measured, such as "<0.5"
probe             the numbers measured at one point, and what they say
classes           all that was measured of an operation, and its classes
expressions       the operations that need more than x
operations        every elementwise operation of torch
ties              several inputs at once, where they tie
notes             why a gradient differs from the slope
measuring_points  at which points to measure
measuring         measure an operation or a tie
record            the atlas of one version, as files store it
installed         the atlas of the installed torch
description       what was measured, in words
search            operations by name and class
comparison        what changed between two versions
quiz_questions    questions for the quiz
"""

from autograd_surprises.atlas.classes import CLASSES, Measured
from autograd_surprises.atlas.comparison import Change, changes
from autograd_surprises.atlas.description import describe, describe_tie
from autograd_surprises.atlas.elementwise_operations import Operation
from autograd_surprises.atlas.installed import atlas
from autograd_surprises.atlas.measuring import measure, measure_tie
from autograd_surprises.atlas.probe import Probe
from autograd_surprises.atlas.record import Atlas, versions
from autograd_surprises.atlas.search import atlas_table, select
from autograd_surprises.atlas.ties import Tie

__all__ = [
    "CLASSES",
    "Atlas",
    "Change",
    "Measured",
    "Operation",
    "Probe",
    "Tie",
    "atlas",
    "atlas_table",
    "changes",
    "describe",
    "describe_tie",
    "measure",
    "measure_tie",
    "select",
    "versions",
]
