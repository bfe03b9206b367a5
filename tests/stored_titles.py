"""Looks at the title that a widget's stored picture shows, which no text of the output repeats."""

import base64
import io

from PIL import Image

HIGH = 42  # pixels of the picture that the title alone has


def width_of_title(widget):
    """In pixels, from its first letter to its last."""
    data, _ = widget._repr_mimebundle_()
    png = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("L")
    dark = png.crop((0, 0, png.width, HIGH)).point(lambda level: 255 * (level < 128))
    left, _, right, _ = dark.getbbox()
    return right - left
