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

from helpers.widgets.drawings.close_up import CloseUpDrawing
from helpers.widgets.drawings.curvature import CurvatureDrawing
from helpers.widgets.drawings.curve import CurveDrawing
from helpers.widgets.drawings.descent import DescentDrawing
from helpers.widgets.drawings.drawing import Drawing
from helpers.widgets.drawings.field import FieldDrawing
from helpers.widgets.drawings.jacobian import JacobianDrawing
from helpers.widgets.drawings.saturation import SaturationDrawing
from helpers.widgets.drawings.staircase import StaircaseDrawing
from helpers.widgets.drawings.surrogate import SurrogateDrawing

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
