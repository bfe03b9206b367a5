"""A laboratory: choose how to train a network in few bits, press Train, and watch it learn."""

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import replace

import ipywidgets
import torch

from autograd_surprises.show.live_picture import LivePicture
from autograd_surprises.show.widget_view import WithStoredOutput
from helpers.explore.callbacks import Alert, in_this_thread
from helpers.explore.controls import control, move_all
from lessons.digits import (
    HELD_OUT,
    IMAGES,
    LABELS,
    WAYS,
    Run,
    mean_gradients,
    training_steps,
    weights_on_grid,
)
from lessons.drawings.training_chart import TrainingChart

PAUSE = 4  # the time from one picture to the next, as a multiple of the time it took to draw


class Laboratory(WithStoredOutput, ipywidgets.VBox):
    """Trains a small network to read handwritten digits, and shows what happens while it learns.

    The controls choose bits, method and learning rate. The curve of the last training stays, to
    compare the next one with it. During a training, the kernel still runs
    other cells, and answers Stop and other widgets. `ways` maps names of methods to their `Run`;
    add your own.

    >>> laboratory = Laboratory(); laboratory.set(bits=4, method="learned step")
    >>> laboratory.summary  # until you press Train, or run: await laboratory.train()
    'nothing trained yet: choose, and press Train'

    values     what the controls are set to
    summary    one line of text: what was trained, and how well it reads
    model      the network
    losses     after each batch
    gradients  after each batch: the mean size of the gradient of each layer's weight
    confusion  (10, 10): how many held-out digits written as (row) were read as (column)
    accuracy   the share of the held-out digits that were read right, in percent
    """

    def __init__(self, ways: Mapping[str, Run] = WAYS):
        self.ways = dict(ways)
        method = "straight-through" if "straight-through" in ways else next(iter(ways))
        self.controls = {
            "bits": control("bits", [8, 4, 3, 2], 2),
            "method": control("method", list(ways), method),
            "learning_rate": control("learning rate", [0.03, 0.1, 0.2, 0.3, 1, 3], 0.2),
        }
        for menu, width in zip(self.controls.values(), (110, 230, 170), strict=True):
            menu.layout.width, menu.layout.margin = f"{width}px", "2px 8px 2px 2px"
        self.train_button = ipywidgets.Button(description="Train", button_style="primary")
        self.stop_button = ipywidgets.Button(description="Stop", disabled=True)
        self.train_button.on_click(in_this_thread(self._on_train))
        self.stop_button.on_click(self._on_stop)
        self.progress, self.message = ipywidgets.FloatProgress(max=1.0), Alert()
        self.chart = TrainingChart()
        self.picture = LivePicture(self.chart.figure, self.chart.moving)
        self._clear("nothing trained yet")
        self._show("choose, and press Train")
        menus = ipywidgets.HBox(list(self.controls.values()))
        buttons = ipywidgets.HBox([self.train_button, self.stop_button, self.progress])
        menus.layout.flex_flow = buttons.layout.flex_flow = "row wrap"  # for narrow windows
        picture = ipywidgets.Box([self.picture, self.picture.stored])
        super().__init__([menus, buttons, picture, self.message])

    @property
    def values(self) -> dict:
        return {name: menu.value for name, menu in self.controls.items()}

    @property
    def summary(self) -> str:
        return self.chart.figure.summary

    @property
    def is_training(self) -> bool:
        return not self.stop_button.disabled

    def set(self, **values):
        """Choose as a reader would, all at once, or nothing. Does not start a training.

        Raises ValueError for a value that is not in its menu, TypeError for a name without a menu.
        """
        move_all(self.controls, values)

    async def train(self):
        """Train as the controls say now, to the end or until Stop.

        Raises RuntimeError while another training is running, and any error of the training itself.
        """
        if self.is_training:
            raise RuntimeError("this laboratory is training: wait until it is done, or press Stop")
        await self._train(self._start())

    def _on_train(self, button):
        if not self.is_training:  # or it is a second click
            self._task = asyncio.get_running_loop().create_task(self._train(self._start()))
            self._task.add_done_callback(lambda task: task.result())  # an error goes to the log

    def _on_stop(self, button):
        self._stop_asked = True

    def _start(self):
        """The run that the controls describe now; they may move while it is running."""
        bits, method, learning_rate = self.values.values()
        run = replace(self.ways[method], bits=bits, learning_rate=learning_rate)
        rounds = run.quantize is not WAYS["floating point"].quantize
        self.chart.start(run.weight_range)
        self._clear(f"{bits} bits, " * rounds + f"{method}, learning rate {learning_rate}")
        self.train_button.disabled, self.stop_button.disabled = True, False
        self._show("0 % trained")  # with other axes it takes long, and the next would have to wait
        return run

    def _clear(self, name):
        self.name, self.done, self._stop_asked = name, 0.0, False
        self.losses, self.gradients = [], []
        self.model = self.confusion = self.accuracy = None
        self.message.value = self.progress.bar_style = ""

    async def _train(self, run):
        advice = "The picture shows how far it got. Choose again, and press Train."
        try:
            with self.message.on_error(advice):
                await self._follow(run)
                self._examine()
        except asyncio.CancelledError:  # the kernel was interrupted
            self._examine()
            raise
        except Exception:
            self.progress.bar_style = "danger"
            self._show(f"an error ended the training after {self._percent()}")
            raise
        finally:
            self.train_button.disabled, self.stop_button.disabled = False, True

    async def _follow(self, run):
        """Train batch by batch, and show the progress from time to time."""
        due = 0.0
        for self.model, self.done, loss in training_steps(run):
            self.losses.append(loss.item())
            self.gradients.append(mean_gradients(self.model))
            start = time.perf_counter()
            if start > due:
                self._show(f"{self._percent()} trained, loss {self.losses[-1]:.3g}")
                due = time.perf_counter() + PAUSE * (time.perf_counter() - start)
            await asyncio.sleep(0)  # Stop, other cells and other widgets run here
            if self._stop_asked:
                return

    @torch.no_grad()
    def _examine(self):
        """Let the network read the held-out digits, and show which it read as which."""
        written, read = LABELS[HELD_OUT], self.model(IMAGES[HELD_OUT]).argmax(1)
        self.confusion = torch.bincount(10 * written + read, minlength=100).view(10, 10)
        self.accuracy = 100 * self.confusion.trace().item() / len(HELD_OUT)
        result = f"{self.accuracy:.1f} % of the held-out digits read right"
        broken = [i for i, loss in enumerate(self.losses, 1) if not math.isfinite(loss)]
        if broken:
            result = f"the loss became {self.losses[broken[0] - 1]} at batch {broken[0]}, {result}"
        if self.done < 1:
            self.name += f", stopped after {self._percent()}"
        self.progress.bar_style = "warning" if broken or self.done < 1 else "success"
        self._show(result)

    def _percent(self):
        return f"{int(100 * self.done)} %"

    def _show(self, result):
        self.progress.value = self.done
        if self.gradients:
            weights, grid = weights_on_grid(self.model), self.model[0].weight_range
            self.chart.show_layers(weights, grid, self.gradients, self.done)
        self.chart.show(self.name, result, self.done, self.losses, self.confusion)
        self.picture.refresh()

    def stored_output(self):
        return self.picture.store()
