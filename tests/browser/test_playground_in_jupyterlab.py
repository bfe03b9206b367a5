"""The playground in a real JupyterLab, with nothing but a keyboard."""

import re

from .lab import wait_until

PLAYGROUND = "from lessons.playground import Playground\nPlayground()"


def test_a_formula_and_a_gradient_are_typed_and_a_slider_moved_by_keyboard(open_cells):
    opened = open_cells(PLAYGROUND)
    opened.run()
    keyboard, panel = opened.page.keyboard, opened.panel
    formula, picture = panel.get_by_label("y =", exact=True), panel.locator(".strokes > canvas")

    def says(words):
        return wait_until(lambda: re.search(words, picture.get_attribute("aria-label")))

    formula.wait_for()
    assert says(r"^y = x \* sigmoid\(a \* x\), a=1: ")
    formula.focus()
    keyboard.press("Control+A")
    keyboard.type("x * round(width")
    status = panel.get_by_text("half typed: a ( is not closed yet")
    status.wait_for()
    # which of the letters were sent alone depends on how quick the page is
    assert says(r"^y = x(?!.*width)"), "it shows a formula that did not work"

    keyboard.type(" * x)")
    status.wait_for(state="detached")
    assert says(r"^y = x \* round\(width \* x\), width=1: ")
    assert formula.input_value() == "x * round(width * x)", "what was typed is lost"
    names = panel.locator(".widget-hslider .widget-label")
    assert wait_until(lambda: names.all_inner_texts() == ["width"]), names.all_inner_texts()

    keyboard.press("Tab")
    keyboard.type("2*x")
    assert says(r"^y = x \* round\(width \* x\), gradient 2\*x, width=1: .*gradient -6 to 6")

    def walk(key, to):
        for _ in range(20):
            keyboard.press(key)
            if opened.page.locator(":focus").and_(to).count():
                return
        raise AssertionError(f"{key} does not lead there")

    walk("Tab", panel.get_by_role("slider"))
    keyboard.press("ArrowRight")
    assert says(r", width=1\.1: ")

    walk("Shift+Tab", panel.get_by_role("button"))
    keyboard.press("Enter")  # the last example
    assert says(r"^y = where\(x > 0, sqrt\(a \* x\), 0\), a=1: .*NaN")
    assert formula.input_value() == "where(x > 0, sqrt(a * x), 0)"
    assert wait_until(lambda: names.all_inner_texts() == ["a"])
    assert opened.complaints() == []
