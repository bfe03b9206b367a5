// JupyterLab scrolls to the section of a link before it has drawn the notebook that the link opens,
// finds no such heading, and stays at the top; what is drawn later moves a heading that was found.
// So this asks until the heading is there and stays, or until the reader does something else.
const PAUSE = 250, PAUSES = 60, ENOUGH = 6; // milliseconds; how often; so many in a row
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

async function land(shell, path, fragment) {
  let touched = false;
  const leave = () => { touched = true; };
  const kinds = ['wheel', 'keydown', 'pointerdown'];
  kinds.forEach(kind => addEventListener(kind, leave, true));
  for (let i = 0, shown = 0; i < PAUSES && shown < ENOUGH; i++) {
    await new Promise(done => setTimeout(done, PAUSE));
    if (touched) break;
    const panel = shell.currentWidget;  // it may take a moment to open
    const isOpen = panel?.context?.path === path && panel.content.activeCell;
    shown = isOpen && show(panel, fragment) ? shown + 1 : 0;
  }
  kinds.forEach(kind => removeEventListener(kind, leave, true));
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

const fold = {
  id: 'autograd-surprises-links:fold',
  autoStart: true,
  activate: app => {
    app.restored.then(() => {  // not awaited here: it waits for all plugins
      if (innerWidth < NARROW) app.shell.collapseLeft();
    });
  },
};

// What webpack would make of it.
(window._JUPYTERLAB ??= {})['autograd-surprises-links'] = {
  init: () => {},
  get: () => () => ({__esModule: true, default: [links, fold]}),
};
