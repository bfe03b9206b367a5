"""The same picture behind the same slider, displayed in four ways. Each is the code of one cell.

A cell defines `slider`. BROWSER tells it whether a browser looks on: without one, the cells with
ipympl say to their canvas what a browser would.
"""

OURS, INTERACT, IDLE, BLIT = "ours", "interact, inline", "ipympl draw_idle", "ipympl blitting"

COMMON = """
import time
import ipywidgets, matplotlib.pyplot as plt, torch
from IPython.display import display
from helpers.curves.numbers import gradient_curve
from helpers.explore.explorer import explore
from helpers.curves.figures import CurveArtists

def round_to(x, step=0.5):
    return step * torch.round(x / step)

def curve(step):
    return gradient_curve(round_to, (-3, 3), step=step)

def empty_figure():
    figure = plt.figure(figsize=(8, 3.4), dpi=100)
    artists = CurveArtists(*figure.subplots(1, 2))
    artists.value_ax.set(xlim=(-3, 3), ylim=(-3.5, 3.5))
    artists.gradient_ax.set(xlim=(-3, 3), ylim=(-0.1, 1.1))
    lines = [artists.value, artists.gradient, artists.slope, artists.mismatch]
    figure.legend(handles=lines, loc="lower center", ncols=4, frameon=False)
    figure.subplots_adjust(left=0.06, right=0.98, top=0.83, bottom=0.22, wspace=0.14)
    figure.suptitle("round_to")
    return figure, artists

def new_slider():
    return ipywidgets.FloatSlider(
        0.5, min=0.1, max=2.0, step=0.01, description="step", layout={"width": "600px"}
    )
"""
IPYMPL = """
%matplotlib widget
with plt.ioff():
    figure, artists = empty_figure()
canvas = figure.canvas
canvas.header_visible = canvas.footer_visible = canvas.toolbar_visible = False
slider = new_slider()
"""
SHOW_IPYMPL = """
slider.observe(lambda change: update(change.new), "value")
display(slider, canvas)
if not BROWSER:  # what a browser says to a canvas that it has opened
    canvas._handle_message(canvas, {"type": "initialized"}, [])
    canvas._handle_message(canvas, {"type": "set_device_pixel_ratio", "device_pixel_ratio": 2}, [])
    canvas.draw()
"""
INLINE = """
%matplotlib inline
%config InlineBackend.figure_format = "retina"
def draw(step):
    figure, artists = empty_figure()
    artists.show(curve(step))
    plt.show()

ipywidgets.interact(draw, step=(slider := new_slider()))
"""
CONTENDERS = {
    OURS: """
explorer = explore(round_to, step=(0.1, 2.0, 0.01))
slider = explorer.sliders["step"]
display(explorer)
""",
    INTERACT: INLINE,
    IDLE: IPYMPL
    + """
def update(step):
    artists.show(curve(step))
    canvas.draw_idle()
    if not BROWSER:  # a browser answers by asking for the drawing
        canvas._handle_message(canvas, {"type": "draw"}, [])
"""
    + SHOW_IPYMPL,
    BLIT: IPYMPL
    + """
for artist in artists.moving:
    artist.set_animated(True)
def keep(event):
    global frame
    frame = canvas.copy_from_bbox(figure.bbox)
    for artist in artists.moving:
        figure.draw_artist(artist)
canvas.mpl_connect("draw_event", keep)
def update(step):
    artists.show(curve(step))
    canvas.restore_region(frame)
    for artist in artists.moving:
        figure.draw_artist(artist)
    canvas.blit(figure.bbox)
"""
    + SHOW_IPYMPL,
}
