"""Pictures that follow sliders, each for one lesson: `explore(drawing, name=(low, high))`."""

from helpers.explore.drawings.backward_run import BackwardDrawing
from helpers.explore.drawings.curve import CurveDrawing
from helpers.explore.drawings.draggable_point import PointDrawing
from helpers.explore.drawings.drawing import Drawing
from helpers.explore.drawings.side_by_side import SideBySideDrawing
from lessons.drawings.accumulation import AccumulationDrawing
from lessons.drawings.checkpoints import CheckpointsDrawing
from lessons.drawings.choice import ChoiceDrawing
from lessons.drawings.clipping import ClippingDrawing
from lessons.drawings.close_up import CloseUpDrawing
from lessons.drawings.codebook import CodebookDrawing
from lessons.drawings.curvature import CurvatureDrawing
from lessons.drawings.dead_codes import DeadCodesDrawing
from lessons.drawings.descent import DescentDrawing
from lessons.drawings.estimators import EstimatorsDrawing
from lessons.drawings.field import FieldDrawing
from lessons.drawings.half_precision import HalfPrecisionDrawing
from lessons.drawings.image_maps import ImageMapsDrawing
from lessons.drawings.jacobian import JacobianDrawing
from lessons.drawings.saturation import SaturationDrawing
from lessons.drawings.shares import SharesDrawing
from lessons.drawings.sharper_mixture import SharperMixtureDrawing
from lessons.drawings.staircase import StaircaseDrawing
from lessons.drawings.surrogate import SurrogateDrawing
from lessons.drawings.tangent import TangentDrawing
from lessons.drawings.typed_curve import TypedDrawing
