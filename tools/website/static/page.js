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
    if (!why) return;
    target.closest("fieldset").querySelector("[role=status]").innerHTML = why;
    for (const part of document.querySelectorAll(`[data-after="${target.name}"]`)) part.open = true;
  });
}

// Parts that are wider than the page can be scrolled by keyboard.
function reachWideParts() {
  for (const part of document.querySelectorAll("pre, .wide, .strokes")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

// Where a text names a button of a picture in its section, as in *too large a step*, it is one, too.
function pressInTheText() {
  const chapters = [...document.querySelectorAll("main :is(h2, [data-frozen], em)")];
  let section = [];
  const connect = () => {
    const buttons = section.flatMap((part) => [...part.querySelectorAll("button[title]")]);
    for (const word of section.filter((part) => part.matches("em"))) {
      const button = buttons.find((each) => each.textContent === word.textContent);
      if (button) word.replaceWith(inTheText(button));
    }
    section = [];
  };
  for (const part of chapters) part.matches("h2") ? connect() : section.push(part);
  connect();
}

function inTheText(button) {
  const made = Object.assign(document.createElement("button"), { className: "in-text", textContent: button.textContent });
  made.addEventListener("click", () => {
    const around = button.closest("details");
    if (around) around.open = true;
    button.click();
    button.closest("[data-frozen]").scrollIntoView({ block: "nearest" });
  });
  return made;
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
reachWideParts(); // before the pictures are drawn, which takes a moment
ready.then(() => {
  reachWideParts();
  pressInTheText();
  addEventListener("resize", reachWideParts);
});
