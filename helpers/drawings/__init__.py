"""Pictures that follow sliders: `explore(drawing, name=(min, max, step))`.

CurveDrawing      a function and its gradient; what `explore(fn)` draws
JacobianDrawing   rows of a Jacobian, weighted by v, and x.grad
FieldDrawing      the gradient of two outputs over a plane, weighted by v
CurvatureDrawing  value, slope and curvature of a function
DescentDrawing    where methods of descent go from a start point
SaturationDrawing how much gradient reaches each layer of a network whose units go flat
SurrogateDrawing  an operator, what it pretends, and which inputs get any gradient
StaircaseDrawing  a ball that goes down the stairs by a surrogate's gradient
CloseUpDrawing    an operation of the gradient atlas, close to a point
"""

from helpers.drawings.close_up import CloseUpDrawing
from helpers.drawings.curvature import CurvatureDrawing
from helpers.drawings.curve import CurveDrawing
from helpers.drawings.descent import DescentDrawing
from helpers.drawings.drawing import Drawing
from helpers.drawings.field import FieldDrawing
from helpers.drawings.jacobian import JacobianDrawing
from helpers.drawings.saturation import SaturationDrawing
from helpers.drawings.staircase import StaircaseDrawing
from helpers.drawings.surrogate import SurrogateDrawing

__all__ = [
    "CloseUpDrawing",
    "CurvatureDrawing",
    "CurveDrawing",
    "DescentDrawing",
    "Drawing",
    "FieldDrawing",
    "JacobianDrawing",
    "SaturationDrawing",
    "StaircaseDrawing",
    "SurrogateDrawing",
]
