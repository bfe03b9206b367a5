// Makes pictures follow sliders, and explains answers to questions. Needs no network.

// One after the other, so that the first appears soon.
async function showPictures() {
  for (const place of document.querySelectorAll(".explorer, .still")) {
    await showFrozen(place, JSON.parse(place.querySelector("script").textContent));
    place.dataset.shown = "";
  }
  document.documentElement.dataset.shown = "";
}

document.addEventListener("change", ({ target }) => {
  const { why } = target.dataset;
  if (!why) return;
  target.closest("fieldset").querySelector("[role=status]").innerHTML = why;
  for (const part of document.querySelectorAll(`.tag_after-${target.name} details`)) part.open = true;
});

// Parts that are wider than the page can be scrolled by keyboard.
function reachWideParts() {
  for (const part of document.querySelectorAll("pre, .table-wrapper, .strokes")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

addEventListener("resize", reachWideParts);
reachWideParts(); // before the pictures are drawn, which takes a moment
showPictures().then(reachWideParts);
