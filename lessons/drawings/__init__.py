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

from helpers.explore.drawings.backward_run import BackwardDrawing
from helpers.explore.drawings.curve import CurveDrawing
from helpers.explore.drawings.draggable_point import PointDrawing
from helpers.explore.drawings.drawing import Drawing
from helpers.explore.drawings.side_by_side import SideBySideDrawing
from lessons.drawings.accumulation import AccumulationDrawing
from lessons.drawings.clipping import ClippingDrawing
from lessons.drawings.close_up import CloseUpDrawing
from lessons.drawings.codebook import CodebookDrawing
from lessons.drawings.curvature import CurvatureDrawing
from lessons.drawings.descent import DescentDrawing
from lessons.drawings.estimators import EstimatorsDrawing
from lessons.drawings.field import FieldDrawing
from lessons.drawings.half_precision import HalfPrecisionDrawing
from lessons.drawings.image_maps import ImageMapsDrawing
from lessons.drawings.jacobian import JacobianDrawing
from lessons.drawings.saturation import SaturationDrawing
from lessons.drawings.staircase import StaircaseDrawing
from lessons.drawings.surrogate import SurrogateDrawing
from lessons.drawings.typed_curve import TypedDrawing

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
