"""The gradient atlas: what autograd returns for every elementwise operation of torch, measured.

At each kink, jump and edge of the domain, at 0, infinity and NaN, beside the slope by finite
differences of the values. Measured with every torch from 2.6 on.
"""

from autograd_surprises.atlas.classes import CLASSES, Measured
from autograd_surprises.atlas.comparison import Change, changes
from autograd_surprises.atlas.description import describe, describe_tie
from autograd_surprises.atlas.elementwise_operations import Operation
from autograd_surprises.atlas.installed import atlas
from autograd_surprises.atlas.measuring import measure
from autograd_surprises.atlas.probe import Probe
from autograd_surprises.atlas.record import Atlas, versions
from autograd_surprises.atlas.search import atlas_table, select
