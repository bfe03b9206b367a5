// Makes pictures follow sliders, and explains answers to questions. Needs no network.

const pictures = [];

// One after the other, so that the first appears soon.
async function showPictures() {
  for (const place of document.querySelectorAll("[data-frozen]")) {
    pictures.push(await showFrozen(place, window.frozen[place.dataset.frozen]));
    place.querySelector(".waiting").remove();
  }
  document.documentElement.dataset.shown = pictures.length;
}

function explainAnswers() {
  document.addEventListener("change", ({ target }) => {
    const why = target.dataset.why;
    if (why) target.closest("fieldset").querySelector("[role=status]").innerHTML = why;
  });
}

// Parts that are wider than the page can be scrolled by keyboard.
function reachWideParts() {
  for (const part of document.querySelectorAll("pre, .wide, .strokes")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

function openContents() {
  const contents = document.querySelector(".contents details"), wide = matchMedia("(min-width: 1150px)");
  if (!contents) return;
  const follow = () => (contents.open = wide.matches);
  wide.addEventListener("change", follow);
  follow();
}

// Paper is white. Canvases keep their colours until they are drawn again.
function printOnWhite() {
  const redraw = (theme) => {
    document.documentElement.dataset.theme = theme;
    pictures.forEach((picture) => picture.prepare());
  };
  addEventListener("beforeprint", () => redraw("light"));
  addEventListener("afterprint", () => redraw(""));
}

explainAnswers();
openContents();
printOnWhite();
for (const place of document.querySelectorAll("[data-symptoms]")) {
  showSymptoms(place, document.querySelector("[data-search]").dataset.search);
}
const ready = window.frozen ? showPictures() : Promise.resolve();
ready.then(() => {
  reachWideParts();
  addEventListener("resize", reachWideParts);
});
