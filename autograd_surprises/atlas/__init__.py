"""The gradient atlas: what autograd returns for every elementwise operation of torch, measured.

At each kink, jump, border of the domain, at 0, infinity and NaN, beside the slope that finite
differences of the values have there. Measured with every torch from 2.6 on.

atlas        the numbers of one version, by default the installed one
atlas_table  them as a table: searched, of one class
changes      what differs between two versions
Operation    a line of code such as "torch.clamp(x, -1, 1)", which can be called
measure      measure an operation; measure_tie: several inputs that tie
"""

from autograd_surprises.atlas.changes import Change, changes
from autograd_surprises.atlas.kinds import CLASSES, classes, events, kind
from autograd_surprises.atlas.measuring import Measured, measure, measure_tie
from autograd_surprises.atlas.operations import Operation
from autograd_surprises.atlas.probing import Probe
from autograd_surprises.atlas.record import Atlas, atlas, versions
from autograd_surprises.atlas.ties import Tie
from autograd_surprises.atlas.words import atlas_table, describe, describe_tie, select

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
    "classes",
    "describe",
    "describe_tie",
    "events",
    "kind",
    "measure",
    "measure_tie",
    "select",
    "versions",
]
