"""Pictures that follow sliders: `explore(drawing, name=(min, max, step))`.

drawing         Drawing: a figure, and how it follows a few values
curve           CurveDrawing: a function and its gradient; what `explore(fn)` draws
draggable_point  PointDrawing: a point on a curve to drag, with two tangents
typed_curve     TypedDrawing: a formula that a reader types
side_by_side    SideBySideDrawing: several functions side by side; what `explore({...})` draws
jacobian        JacobianDrawing: rows of a Jacobian, weighted by v, and x.grad
field           FieldDrawing: the gradient of two outputs over a plane, weighted by v
curvature       CurvatureDrawing: value, slope and curvature of a function
descent         DescentDrawing: where methods of descent go from a start point
saturation      SaturationDrawing: how much gradient reaches each layer of a saturated network
surrogate       SurrogateDrawing: an operator, its surrogate, and which inputs get a gradient
staircase       StaircaseDrawing: a ball that rolls down stairs by a surrogate gradient
estimators      EstimatorsDrawing: ways to estimate the gradient of a choice, and their errors
codebook        CodebookDrawing: one step of gradient descent, for a vector and its code
close_up        CloseUpDrawing: an operation of the gradient atlas, close to a point
arrow           a vector of the plane as an arrow, and the angle between two
accumulation    AccumulationDrawing: the gradient that two batches add up to
clipping        ClippingDrawing: a gradient, and what clipping makes of it
half_precision  HalfPrecisionDrawing: which part of a gradient survives in 16 bits
image_maps      ImageMapsDrawing: images, and maps of the pixels that speak for a class
backward_steps  one backward through a small graph, step by step, as data
backward_words  these steps in words and numbers
backward_run    BackwardDrawing: a small graph, and what backward does in it, step by step
training_chart  TrainingChart: the loss of a training, and how the network reads digits
"""

from helpers.widgets.drawings.accumulation import AccumulationDrawing
from helpers.widgets.drawings.backward_run import BackwardDrawing
from helpers.widgets.drawings.clipping import ClippingDrawing
from helpers.widgets.drawings.close_up import CloseUpDrawing
from helpers.widgets.drawings.codebook import CodebookDrawing
from helpers.widgets.drawings.curvature import CurvatureDrawing
from helpers.widgets.drawings.curve import CurveDrawing
from helpers.widgets.drawings.descent import DescentDrawing
from helpers.widgets.drawings.draggable_point import PointDrawing
from helpers.widgets.drawings.drawing import Drawing
from helpers.widgets.drawings.estimators import EstimatorsDrawing
from helpers.widgets.drawings.field import FieldDrawing
from helpers.widgets.drawings.half_precision import HalfPrecisionDrawing
from helpers.widgets.drawings.image_maps import ImageMapsDrawing
from helpers.widgets.drawings.jacobian import JacobianDrawing
from helpers.widgets.drawings.saturation import SaturationDrawing
from helpers.widgets.drawings.side_by_side import SideBySideDrawing
from helpers.widgets.drawings.staircase import StaircaseDrawing
from helpers.widgets.drawings.surrogate import SurrogateDrawing
from helpers.widgets.drawings.typed_curve import TypedDrawing

__all__ = [
    "AccumulationDrawing",
    "BackwardDrawing",
    "ClippingDrawing",
    "CloseUpDrawing",
    "CodebookDrawing",
    "CurvatureDrawing",
    "CurveDrawing",
    "DescentDrawing",
    "Drawing",
    "EstimatorsDrawing",
    "FieldDrawing",
    "HalfPrecisionDrawing",
    "ImageMapsDrawing",
    "JacobianDrawing",
    "PointDrawing",
    "SaturationDrawing",
    "SideBySideDrawing",
    "StaircaseDrawing",
    "SurrogateDrawing",
    "TypedDrawing",
]
