"""JupyterLab delivers what a reader does in another thread; the work is done where cells run."""

import asyncio
import sys
import threading

import pytest
from unseen_pictures import unseen_pictures  # noqa: F401

from helpers.explore import callbacks, explore
from helpers.explore.callbacks import in_this_thread


def run_in_a_kernel(make, move):
    """Call `make` where cells run, then `move` with its result in another thread, and wait."""

    async def main():
        made = make()
        mover = threading.Thread(target=move, args=[made])
        mover.start()
        mover.join()  # as if a cell took as long
        await asyncio.sleep(0.01)
        return made

    return asyncio.run(main())


def test_moves_are_made_where_cells_run_and_only_the_last_that_waits():
    threads, shown = [], []

    def line(x, k=1.0):
        threads.append(threading.current_thread())
        return k * x

    def make():
        explorer = explore(line, k=(0.0, 2.0, 0.5))
        show = explorer.drawing.show
        explorer.drawing.show = lambda k: shown.append(k) or show(k=k)
        return explorer

    def move(explorer):
        for k in (0.0, 0.5, 2.0):
            explorer.sliders["k"].value = k
        assert shown == [], "while the cell is running"

    explorer = run_in_a_kernel(make, move)
    assert shown == [2.0] and "k=2" in explorer.summary
    assert set(threads) == {threading.main_thread()}


def test_only_the_last_place_of_a_drag_that_waits_is_shown():
    def move(explorer):
        for point in (0.0, 0.5, 1.0):
            explorer.picture.dragged = {"point": point}

    moves = []

    def make():
        explorer = explore(lambda x: x**2, x=(-2, 2), point=0.3)
        explorer.sliders["point"].observe(lambda change: moves.append(change["new"]), "value")
        return explorer

    explorer = run_in_a_kernel(make, move)
    assert moves == [1.0] and "point=1" in explorer.summary


def test_every_press_counts():
    def press(explorer):
        explorer.step_button.click()
        explorer.step_button.click()

    explorer = run_in_a_kernel(lambda: explore(lambda x: x, x=(-2, 2), point=0.3), press)
    assert explorer.values["point"] == pytest.approx(0.1)


def test_an_error_is_shown_as_that_of_a_cell(monkeypatch):
    shown = []

    class Shell:
        def showtraceback(self):
            shown.append(sys.exc_info()[1])

    def fails():
        raise ValueError("too small")

    monkeypatch.setattr(callbacks, "get_ipython", Shell)
    run_in_a_kernel(lambda: in_this_thread(fails), lambda call: call())
    assert [str(error) for error in shown] == ["too small"]


def test_without_an_event_loop_it_is_called_at_once():
    called = []
    call = in_this_thread(called.append)
    other = threading.Thread(target=call, args=[1])
    other.start()
    other.join()
    assert called == [1]
