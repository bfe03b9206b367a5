// JupyterLab scrolls to the section of a link before it has drawn the notebook that the link opens,
// finds no such heading, and stays at the top; what is drawn later moves a heading that was found.
// So this asks until the heading is there and stays, or until the reader does something else.
const PAUSE = 250, PAUSES = 240, ENOUGH = 6; // milliseconds; how often; so many in a row
const NARROW = 1000; // pixels; beside the file browser, too little of a picture is left

/** Shows the heading of this fragment. Was it in the upper half of the panel, or at the very end? */
function show(panel, fragment) {
  const name = CSS.escape(decodeURIComponent(fragment.slice(1)));
  const heading = panel.content.node.querySelector(`[id="${name}"], [data-jupyter-id="${name}"]`);
  const outer = panel.content.node.querySelector('.jp-WindowedPanel-outer');
  if (!heading || !outer) {
    panel.setFragment(fragment);
    return false;
  }
  const box = outer.getBoundingClientRect(), top = heading.getBoundingClientRect().top - box.top;
  const atEnd = outer.scrollTop + outer.clientHeight >= outer.scrollHeight - 1;
  if (top > -1 && top < box.height * (atEnd ? 1 : 0.5)) return true;
  heading.scrollIntoView();
  return false;
}

// How often the reader has done something: the page may move only for what was asked for last.
let turn = 0;
for (const kind of ['wheel', 'keydown', 'pointerdown']) addEventListener(kind, () => { turn++; }, true);

/** Asks until `isShown` holds and stays, or until the reader has done something since `mine`. */
async function hold(isShown, mine = turn) {
  for (let i = 0, shown = 0; i < PAUSES && shown < ENOUGH && turn === mine; i++) {
    shown = isShown() ? shown + 1 : 0;
    await new Promise(done => setTimeout(done, PAUSE));
  }
}

/** Says where the page is going; a notebook that has to be opened takes seconds. Returns the sign. */
function signOf(fragment) {
  const textContent = `Going to “${decodeURIComponent(fragment.slice(1)).replaceAll('-', ' ')}” …`;
  const sign = Object.assign(document.createElement('div'), {textContent, role: 'status'});
  sign.style.cssText = 'position: fixed; z-index: 1000; top: 80px; left: 50%; padding: 4px 12px;'
    + 'background: var(--jp-layout-color2); color: var(--jp-ui-font-color1)';
  document.body.append(sign);
  return sign;
}

async function land(shell, path, fragment) {
  const sign = signOf(fragment);
  await hold(() => {
    const panel = shell.currentWidget;  // it may take a moment to open
    const isOpen = panel?.context?.path === path && panel.content.activeCell;
    const isShown = isOpen && show(panel, fragment);
    if (isShown) sign.remove();
    return isShown;
  });
  sign.remove();
}

/** JupyterLab finds the section of a link within a notebook only if it has been drawn already. */
function landWithin(shell, link) {
  const panel = shell.currentWidget;
  if (link?.hash?.length > 1 && panel?.content?.activeCell && panel.node.contains(link))
    land(shell, panel.context.path, link.hash);
}

const links = {
  id: 'autograd-surprises-links:links',
  autoStart: true,
  activate: app => {
    app.commands.commandExecuted.connect((_, {id, args, result}) => {
      if (id === 'rendermime:handle-local-link' && args.id?.length > 1)
        result.then(() => land(app.shell, args.path, args.id));
    });
    addEventListener('click', ({target}) =>
      landWithin(app.shell, target.closest?.('a[href^="#"]')));
  },
};

/** Shows the output of a cell that has run, and what comes after it only if that leaves room. */
function showOutput(panel, cell) {
  const outer = panel.content.node.querySelector('.jp-WindowedPanel-outer');
  const output = cell.node.querySelector('.jp-Cell-outputWrapper');
  if (!outer || !output) return true;
  if (output.textContent.includes('Loading widget')) return false;
  const box = outer.getBoundingClientRect(), {top, bottom, height} = output.getBoundingClientRect();
  const isSeen = top > box.top - 1 && bottom < box.bottom + 1;
  const isAlone = output.querySelector('canvas, .prediction');
  // A picture or a question ends where the window does: what explains it is the next thing to scroll to.
  const down = height > box.height ? top - box.top : bottom - box.bottom;
  if (!height || Math.abs(down) < 2 || (isSeen && !isAlone)) return true;
  const before = outer.scrollTop;
  outer.scrollTop += down;
  return outer.scrollTop === before;  // at an end of the notebook
}

// JupyterLab brings the next cell to the middle of the window, and the output out of it.
const outputs = {
  id: 'autograd-surprises-links:outputs',
  autoStart: true,
  activate: app => {
    app.commands.commandExecuted.connect((_, {id, result}) => {
      const panel = app.shell.currentWidget, {content} = panel ?? {};
      if (id !== 'notebook:run-cell-and-select-next' || !content?.activeCell) return;
      const mine = turn, cell = content.widgets[content.activeCellIndex - 1];  // it has moved on
      result.then(() => hold(() => !cell || cell.isDisposed || showOutput(panel, cell), mine));
    });
  },
};

const fold = {
  id: 'autograd-surprises-links:fold',
  autoStart: true,
  activate: app => {
    app.restored.then(() => {  // not awaited here: it waits for all plugins
      if (innerWidth < NARROW) app.shell.collapseLeft();
    });
  },
};

// A stored picture is drawn on white. In a dark theme it becomes its negative with the same hues, as
// a live picture's own stored one does. The arrow of a menu is black there, and is drawn again.
const ARROW = "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'%3E%3Cpath fill='%23ccc' d='M5 7l4 5 4-5z'/%3E%3C/svg%3E";
const RULES = `
[data-jp-theme-light=false] .jp-RenderedImage img { filter: invert(0.93) hue-rotate(180deg) }
[data-jp-theme-light=false] .widget-dropdown > select { background-image: url("data:image/svg+xml,${ARROW}") }
.jp-RenderedMarkdown details { margin-bottom: 1em }
`;
const looks = {
  id: 'autograd-surprises-links:looks',
  autoStart: true,
  activate: () => {
    document.head.append(Object.assign(document.createElement('style'), {textContent: RULES}));
  },
};

// What webpack would make of it.
(window._JUPYTERLAB ??= {})['autograd-surprises-links'] = {
  init: () => {},
  get: () => () => ({__esModule: true, default: [links, outputs, fold, looks]}),
};
