"""A notebook open in JupyterLab, and an explorer on it, as a reader uses them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import nbformat

from .lab import ANY, EXPLORER, Lab, wait_until

# What nobody did wrong: JupyterLab asks for live widgets before a cell imports ipywidgets, and
# ipykernel drops what a page says of its widgets while it is closed. It warns of that, and where
# FORGET has deleted all names, the warning itself fails.
NOISE = (
    r"/^\[?.*No such comm.*\n?|^Task was destroyed.*\n?|^task: <Task .*ipykernel.*\n?"
    r"|^.*Kernel.shell_main.*never awaited.*\n?(  .*\n?)?"  # Python adds the line of code
    r"|^Exception ignored in: .*Kernel.shell_main.*\n(Traceback.*\n(  .*\n)*KeyError: .*\n?)?"
    r"|^RuntimeWarning: Enable tracemalloc.*\n?/gm"
)
# Seen once when a window became narrower: React in JupyterLab removes a node that is gone.
JUPYTERLABS_OWN = re.compile(
    r"NotFoundError: Failed to execute 'removeChild' on 'Node'.*\n +at .*/static/lab/"
)
# LISTEN and OPEN do not wait for their promises: only wait_for_function has a time limit.
LISTEN = """() => (async noise => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;  // run too early, and JupyterLab asks "Select Kernel"
  window.ran = [];
  // Errors and warnings of callbacks are shown nowhere on the page.
  const complaints = window.complaints = [], unanswered = window.unanswered = new Set();
  panel.sessionContext.session.kernel.anyMessage.connect((_, {msg, direction}) => {
    if (direction === 'send' && msg.header.msg_type === 'comm_msg')
      unanswered.add(msg.header.msg_id);
    if (msg.content.execution_state === 'idle') unanswered.delete(msg.parent_header.msg_id);
  });
  panel.sessionContext.iopubMessage.connect((_, {header, content}) => {
    if (header.msg_type === 'error')
      complaints.push(content.ename + ': ' + content.evalue);
    const text = content.text?.replace(noise, '');
    if (header.msg_type === 'stream' && content.name === 'stderr' && text)
      complaints.push(text);
  });
  window.listening = true;
})(NOISE) && null""".replace("NOISE", NOISE)
OPEN = """path =>
  window.jupyterapp.commands.execute('docmanager:open', {path}) && null"""
IS_OPEN = "path => window.jupyterapp?.shell?.currentWidget?.context?.path === path"
# Closed as by hand, without the question whether to save it.
CLOSE = """() => {
  const panel = window.jupyterapp.shell.currentWidget;
  panel.context.model.dirty = false;
  panel.close();
  window.lastPanel = panel;
  window.listening = false;
}"""
# A shared kernel forgets names and widgets, or the next page would show them. What is left then is
# imported: frozen, it is not looked through at the next reset, which takes half a second.
FORGET = """
import gc, ipywidgets, matplotlib.pyplot
ipywidgets.Widget.close_all()
matplotlib.pyplot.close("all")
get_ipython().run_line_magic("reset", "-f")
__import__("gc").freeze()
"""
SAVED = """() => {
  const {context} = window.jupyterapp.shell.currentWidget;
  return context.save().then(() => context.path);
}"""
EXECUTED = """code => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
  .requestExecute({code, silent: true}).done.then(() => true)"""
# Has the kernel handled all that widgets have sent, and the page what came of it? ipywidgets sends
# a second change only when the first is answered, callbacks of messages that a subshell has
# received run between the main shell's messages, and the page handles all answers in turn.
SETTLED = """() => {
  const quiet = () => window.unanswered.size === 0, before = quiet();
  return window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
    .requestExecute({code: '', silent: true}).done.then(() => before && quiet());
}"""
RUN = """chosen => {
  const {content} = window.jupyterapp.shell.currentWidget, ran = window.ran;
  content.deselectAll();
  content.activeCellIndex = chosen[0];
  chosen.forEach(i => content.select(content.widgets[i]));
  window.jupyterapp.commands.execute('notebook:run-cell').then(() => ran.push(...chosen));
}"""
HAS_RUN = """i => {
  const {model} = window.jupyterapp.shell.currentWidget.content.widgets[i];
  return model.executionCount && model.executionState === 'idle';
}"""
# In pixels: the output above the window and below it, and the next cell above its end.
OUT_OF_PLACE = """i => {
  const {node, widgets} = window.jupyterapp.shell.currentWidget.content;
  const outer = node.querySelector('.jp-WindowedPanel-outer'), box = outer.getBoundingClientRect();
  const output = widgets[i].node.querySelector('.jp-Cell-outputWrapper').getBoundingClientRect();
  const next = widgets[i + 1].node.getBoundingClientRect();
  const seen = outer.scrollTop ? box.bottom - next.top : 0;  // it cannot go further down
  return [box.top - output.top, output.bottom - box.bottom, seen];
}"""
COMPLAINTS = """() => {
  const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells];
  return [
    ...cells.filter(cell => cell.type === 'code').flatMap(cell => cell.outputs.toJSON())
      .filter(output => output.output_type === 'error' || output.name === 'stderr')
      .map(output => output.ename ? output.ename + ': ' + output.evalue
        : String(output.text).replace(NOISE, ''))
      .filter(said => said),
    ...window.complaints,
    ...window.ran.map(i => cells[i]).filter(cell => !cell.executionCount)
      .map(cell => 'cell ' + cell.id + ' did not run'),
  ];
}""".replace("NOISE", NOISE)


# What the page shows in place of a widget.
LOADING = "Loading widget"
BROKEN = re.compile(f"Error displaying widget|Click to show javascript error|{LOADING}")


# Playwright waits for the page to handle each mouse move. A hand does not.
DRAG = """async ([x, y, distance]) => {
  const start = performance.now();
  for (let i = 1; i <= 100; i++) {
    const wait = start + 10 * i - performance.now();
    if (wait > 0) await new Promise(done => setTimeout(done, wait));
    document.documentElement.dispatchEvent(new MouseEvent('mousemove', {
      bubbles: true, buttons: 1, clientX: x + distance * i / 100, clientY: y, view: window}));
  }
  return (performance.now() - start) / 1000;
}"""


class NotebookPage:
    """One notebook open in JupyterLab."""

    def __init__(self, page, lab: Lab, path: str):
        self.page, self.page_errors = page, []
        self.notebook = nbformat.read(lab.folder / path, as_version=4)
        page.on("pageerror", self._hear)
        if page.url == "about:blank":
            # In its own workspace, or JupyterLab opens the last one's notebooks, too.
            workspace = f"{Path(path).stem}-{time.monotonic_ns()}"
            page.goto(f"{lab.url}lab/workspaces/{workspace}/tree/{quote(path)}?token={lab.token}")
        else:
            page.evaluate(OPEN, path)
        self._listen(path)
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def _wait(self, condition, arg=None):
        # Asked with every frame, as is usual, the page would draw one frame after another.
        self.page.wait_for_function(condition, arg=arg, polling=50, timeout=1_800_000)

    def _listen(self, path):
        self._wait(IS_OPEN, path)
        self.page.evaluate(LISTEN)
        self._wait("() => window.listening")

    def _hear(self, error):
        if not JUPYTERLABS_OWN.match(error.stack):
            self.page_errors.append(f"on the page: {error}")

    def close(self):
        """Close the notebook and clear the kernel, so that the next test can use both."""
        self.page.evaluate(EXECUTED, FORGET)
        self._close_tab()
        self.page.remove_listener("pageerror", self._hear)

    def _close_tab(self):
        self.page.evaluate(CLOSE)
        self._wait("() => window.lastPanel.isDisposed")

    def start(self, cells: list[int]):
        """Start these cells without waiting for them."""
        self.page.evaluate(RUN, cells)

    def run(self):
        """Run every cell."""
        before = self.page.evaluate("window.ran.length")
        cells = list(range(len(self.notebook.cells)))
        self.start(cells)
        self._wait("count => window.ran.length === count", before + len(cells))

    def read(self) -> Iterator[int]:
        """Press Shift+Enter in each cell, as a reader does; yields each code cell that has run."""
        self.panel.locator(".jp-Cell").first.click()
        self.page.keyboard.press("Escape")
        for i, cell in enumerate(self.notebook.cells):
            self.page.keyboard.press("Shift+Enter")
            if cell.cell_type == "code":
                self._wait(HAS_RUN, i)
                yield i

    def out_of_place(self, i: int) -> bool:
        return any(pixels > 1 for pixels in self.page.evaluate(OUT_OF_PLACE, i))

    def settle(self):
        """Wait until the kernel has answered all that widgets have sent, and the page shows it."""
        self._wait(SETTLED)

    def reload(self):
        """Save the notebook and load the page again, as a browser does that comes back."""
        path = self.page.evaluate(SAVED)
        self.page.reload()
        self._listen(path)

    def explorers(self) -> list[ExplorerView]:
        boxes = self.panel.locator(".widget-vbox:has(> .strokes > canvas)")
        wanted = len(self.cells_that_explore())
        wait_until(lambda: boxes.count() >= wanted)  # they appear some time after their cell ran
        return [ExplorerView(self, box) for box in boxes.all()]

    def cells_that_explore(self) -> list:
        """The cells that make an explorer, so each of them has a picture to show."""
        return [
            self.panel.locator(".jp-Cell").nth(i)
            for i, cell in enumerate(self.notebook.cells)
            if cell.cell_type == "code" and EXPLORER.search(cell.source)
        ]

    def folded(self, wanted: re.Pattern = ANY) -> list[str]:
        """The code cells with such a source whose output the page hides."""
        places = [i for i, cell in enumerate(self.notebook.cells) if wanted.search(cell.source)]
        cells = self.panel.locator(".jp-Cell")
        return [self.notebook.cells[i].id for i in places if cells.nth(i).locator(FOLDED).count()]

    def drag(self, slider, distance: int) -> float:
        """Drag by so many pixels in 100 mouse moves within a second. Returns the seconds."""
        slider.scroll_into_view_if_needed()
        handle = slider.bounding_box()
        x, y = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        seconds = self.page.evaluate(DRAG, [x, y, distance])
        self.page.mouse.up()
        return seconds

    def complaints(self) -> list[str]:
        """What went wrong anywhere: in cells, in callbacks, in widgets, on the page."""
        outputs = self.panel.locator(".jp-OutputArea-output")
        wait_until(lambda: outputs.filter(has_text=LOADING).count() == 0)
        broken = outputs.filter(has_text=BROKEN).all_inner_texts()
        return list(dict.fromkeys(self.page.evaluate(COMPLAINTS) + broken + self.page_errors))

    def everything_wrong(self, patience: float = 60) -> list[str]:
        """Run all cells, move all controls of all explorers, and list what went wrong."""
        self.run()
        explorers = self.explorers()
        silent = [fault for one in explorers for fault in one.faults_when_moved(patience)]
        return self.complaints() + silent


# The controls of an explorer: what each is called and what the page shows as its value.
CONTROLS = """box => [...box.querySelectorAll('.explorer-controls > *')].flatMap(control => {
  const texts = [...control.querySelectorAll('label, span')].map(label => label.innerText);
  const name = texts.map(text => text.replace('\\u200b', '').trim()).find(text => text);
  const select = control.querySelector('select'), tick = control.querySelector('[type=checkbox]');
  const readout = control.querySelector('.widget-readout');
  if (select) return [{name, kind: 'choice', shown: select.selectedOptions[0].innerText,
                       options: [...select.options].map(option => option.innerText)}];
  if (tick) return [{name, kind: 'tick', shown: tick.checked ? 'True' : 'False'}];
  if (readout) return [{name, kind: 'slider', shown: readout.innerText.replace('\\u2212', '-')}];
  return [];
})"""
FOLDED = ".jp-Cell-outputWrapper .jp-OutputPlaceholder"  # in place of an output
STORED_WIDTH = "async img => { await img.decode(); return img.naturalWidth; }"
# Pairs of an explorer's controls, or of a control and the picture, that lie on one another.
OVERLAPS = """box => {
  const all = [...box.children].flatMap(part =>
    part.matches('.explorer-controls') ? [...part.children] : [part]);
  const parts = all.map(part => [part.innerText, part.getBoundingClientRect()]);
  return parts.flatMap(([name, one], i) => parts.slice(i + 1)
    .filter(([, other]) => one.left < other.right - 1 && other.left < one.right - 1
      && one.top < other.bottom - 1 && other.top < one.bottom - 1)
    .map(([other]) => name + ' | ' + other));
}"""
SCROLLS = "box => box.scrollWidth > box.clientWidth"
PIXELS = """async canvas => {
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', data));
  return [...hash].map(byte => byte.toString(16).padStart(2, '0')).join('');
}"""


class ExplorerView:
    """An explorer on the page: its controls, its picture, and the picture's text alternative."""

    def __init__(self, opened: NotebookPage, box):
        self.opened, self.box, self.picture = opened, box, box.locator("> .strokes > canvas")

    @property
    def text(self) -> str:
        return self.picture.get_attribute("aria-label")

    def controls(self) -> list[dict]:
        return self.box.evaluate(CONTROLS)

    def first_slider(self) -> str:
        return next(control["name"] for control in self.controls() if control["kind"] == "slider")

    def shown(self, name: str) -> str:
        return next(control["shown"] for control in self.controls() if control["name"] == name)

    def slider(self, name: str):
        row = self.box.locator(".widget-slider").filter(
            has=self.box.page.locator("label", has_text=re.compile(f"^{name}$"))
        )
        return row.get_by_role("slider")

    def pixels(self) -> str:
        """A fingerprint of what is drawn on the canvas."""
        return self.picture.evaluate(PIXELS)

    def agrees(self) -> bool:
        """Does the text alternative name the values that the controls show?"""
        text = self.text
        for control in self.controls():
            if control["kind"] == "slider":
                said = re.search(rf"\b{control['name']}=(-?[\d.]+(?:e[-+]?\d+)?)", text)
                if not said or abs(float(said[1]) - float(control["shown"])) > 0.005001:
                    return False  # the page shows two decimals
            elif f"{control['name']}={control['shown']}".replace("\xa0", " ") not in text:
                return False  # ipywidgets puts such spaces into a choice
        return True

    def press(self, name: str, key: str) -> bool:
        """Press a key on a slider. Does the text alternative follow?"""
        self.slider(name).press(key)
        return self.comes_to_agree()

    def comes_to_agree(self, patience: float = 60) -> bool:
        """Do controls and text agree, at most so many seconds after the kernel has settled?"""
        self.opened.settle()
        return wait_until(self.agrees, patience)

    def faults_when_moved(self, patience: float) -> list[str]:
        """Move each control to its ends. Controls, text and picture should stay together."""
        faults = []
        for control in self.controls():
            name, pictures = control["name"], []
            for step in self._ways_to_move(control):
                step()
                if not self.comes_to_agree(patience):
                    faults.append(f"{name} shows {self.shown(name)}, but the text says {self.text}")
                pictures.append(self.pixels())
            # a learning rate only says how long the next step will be
            if len(set(pictures)) == 1 and name != "lr":
                faults.append(f"the picture stands still when {name} moves: {self.text}")
        return faults

    def _ways_to_move(self, control):
        if control["kind"] == "slider":
            slider = self.slider(control["name"])
            return [lambda: slider.press("Home"), lambda: slider.press("End")]
        field = self.box.get_by_label(control["name"], exact=True)
        if control["kind"] == "tick":
            return [field.click, field.click]
        return [lambda option=option: field.select_option(option) for option in control["options"]]
