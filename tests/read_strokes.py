"""Reads what a LivePicture sends, as a page does: the style and the numbers of each stroke."""

import json

import numpy as np


def read_strokes(picture):
    """Independent of the order in which styles and glyphs were first used."""
    return _strokes(picture, picture.frame), _strokes(picture, picture.moving)


def _strokes(picture, sent):
    numbers, found, at = np.frombuffer(sent, "<i2").tolist(), [], 0

    def take(count):
        nonlocal at
        at += count
        assert at <= len(numbers), "the strokes end too soon"
        return numbers[at - count : at]

    def count():
        multiples, rest = take(2)
        return 32768 * multiples + rest

    while at < len(numbers):
        style = picture.styles[take(1)[0]]
        if style["kind"] == "path":
            body = [take(2 * count()) for _ in range(count())]
        elif style["kind"] == "marks":
            body = take(2 * count())
        elif style["kind"] == "text":
            place, glyphs = take(2), [take(4) for _ in range(take(1)[0])]
            body = place, [(picture.glyphs[number], *rest) for number, *rest in glyphs]
        else:
            box, (rows, columns) = take(4), take(2)
            body = box, rows, columns, [picture.styles[k]["fill"] for k in take(rows * columns)]
        found.append((json.dumps(style, sort_keys=True), body))
    return found
