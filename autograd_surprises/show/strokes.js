// A picture that matplotlib described as strokes, drawn on a canvas in the colours of the page.
// stroke_recorder.py says how strokes are written. Needs no library. The same module is live, as the
// front end of an anywidget, and frozen, in a page without a kernel.

const UNIT = 16; // coordinates are whole sixteenths of a pixel of the page
const MOST = 32767; // fits into 16 bits
const TILE = 100; // a hatch repeats after so many pixels
const DARK = "(prefers-color-scheme: dark)";

// ---- Colours ----------------------------------------------------------------------------------

// Red, green, blue from 0 to 1 of these colours, painted one over the other.
function mixed(...colours) {
  const c = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  for (const colour of colours) {
    c.fillStyle = colour;
    c.fillRect(0, 0, 1, 1);
  }
  return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).map((level) => level / 255);
}

const linear = (level) => (level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b; // of linear light

// Paper and ink of the page: JupyterLab's, or those that the reader's system prefers.
export function pageColours(el) {
  const style = getComputedStyle(el), dark = matchMedia(DARK).matches;
  const variable = (name) => style.getPropertyValue(name).trim();
  const paper = variable("--jp-layout-color0") || (dark ? "#111111" : "#ffffff");
  const ink = variable("--jp-content-font-color1") || (dark ? "#e8e8e8" : "#000000");
  return { paper: mixed(paper), ink: mixed(paper, ink) };
}

// Drawings choose their colours for black ink on white paper. On other paper a colour is as far as
// before from a grey between paper and ink, which keeps its hue, and has the same contrast (WCAG 2).
// Dark paper needs more contrast, for pale colours most: eyes tell fewer dark shades apart. Of a
// translucent colour, the tint on the paper is what counts.
export function colourMap({ paper, ink }) {
  const known = new Map(), light = (levels) => luminance(levels.map(linear));
  const [high, low] = [light(paper), light(ink)];
  function opaque(levels) {
    const contrast = 1.05 / (light(levels) + 0.05);
    const onDark = Math.max(contrast ** 1.2, Math.min(3, contrast ** 1.5));
    const wanted = high > low ? (high + 0.05) / contrast : (high + 0.05) * onDark;
    const grey = luminance(levels);
    const mix = (share) =>
      levels.map((level, i) => Math.min(1, Math.max(0, paper[i] + share * (ink[i] - paper[i]) + level - grey)));
    let [least, most] = [0, 1];
    for (let i = 0; i < 12; i++) {
      const middle = (least + most) / 2;
      if (light(mix(middle)) + 0.05 > wanted === high > low) least = middle;
      else most = middle;
    }
    return mix(most);
  }
  function translate(colour) {
    const level = (k) => parseInt(colour.slice(k, k + 2), 16) / 255, levels = [1, 3, 5].map(level);
    const alpha = colour.length > 7 ? level(7) : 1;
    const tint = opaque(levels.map((part) => 1 - alpha * (1 - part)));
    // the smallest alpha with which a colour can give this tint
    const needed = tint.map((part, i) => (part > paper[i] ? (part - paper[i]) / (1 - paper[i]) : (paper[i] - part) / paper[i]));
    const share = Math.max(alpha, ...needed);
    const own = tint.map((part, i) => Math.round(255 * (share ? paper[i] + (part - paper[i]) / share : part)));
    return `rgb(${own.join(" ")} / ${share})`;
  }
  return (colour) => {
    if (!known.has(colour)) known.set(colour, translate(colour));
    return known.get(colour);
  };
}

// Calls `changed` when the page takes other colours. Returns a function that stops it.
function onColours(changed) {
  // A theme's name may change before its style sheet has arrived.
  const hear = () => [0, 300, 1500].forEach((wait) => setTimeout(changed, wait));
  const observer = new MutationObserver(hear), query = matchMedia(DARK);
  const filter = { attributes: true, attributeFilter: ["data-jp-theme-name", "class", "data-theme"] };
  for (const el of [document.documentElement, document.body]) observer.observe(el, filter);
  query.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    query.removeEventListener("change", changed);
  };
}

// Calls `changed` when the page is zoomed or moves to another screen. Returns a function that stops it.
function onPixelRatio(changed) {
  let query;
  const hear = () => {
    watch();
    changed();
  };
  const watch = () => {
    query = matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
    query.addEventListener("change", hear, { once: true });
  };
  watch();
  return () => query.removeEventListener("change", hear);
}

// ---- Strokes ----------------------------------------------------------------------------------

// The strokes in these numbers, each with its style and what the style's kind needs.
export function* strokes(numbers, styles) {
  let at = 0;
  const next = () => numbers[at++];
  const points = (count) => {
    const start = at;
    at += 2 * count;
    return Float64Array.from(numbers.subarray(start, at), (v) => v / UNIT);
  };
  const count = () => (MOST + 1) * next() + next();
  const times = (count, make) => Array.from({ length: count }, make);
  while (at < numbers.length) {
    const style = styles[next()];
    if (style.kind === "path") yield { style, parts: times(count(), () => points(count())) };
    else if (style.kind === "marks") yield { style, points: points(count()) };
    else if (style.kind === "text") {
      const [x, y] = points(1);
      const glyphs = times(next(), () => ({ glyph: next(), x: next() / UNIT, y: next() / UNIT, size: next() / 100 }));
      yield { style, x, y, glyphs };
    } else {
      const [x, y, right, bottom] = points(2), rows = next(), columns = next();
      yield { style, x, y, width: right - x, height: bottom - y, rows, columns, cells: times(rows * columns, () => styles[next()].fill) };
    }
  }
}

// Draws strokes on a context on which one unit is one pixel of the page, `ratio` of the screen.
class Pen {
  constructor(context, ratio, colour, glyphs) {
    Object.assign(this, { c: context, ratio, colour, glyphs, shapes: new Map(), tiles: new Map() });
  }

  draw(stroke) {
    const { c } = this, { style } = stroke;
    c.save();
    if (style.clip) {
      const [x, y, width, height] = style.clip, whole = (v) => Math.round(v * this.ratio) / this.ratio;
      c.beginPath();
      c.rect(whole(x), whole(y), whole(x + width) - whole(x), whole(y + height) - whole(y));
      c.clip();
    }
    if (style.outline) c.clip(this.shape(style.outline));
    if (style.fill) c.fillStyle = this.colour(style.fill);
    if (style.line) {
      c.strokeStyle = this.colour(style.line);
      c.lineWidth = style.width;
      c.lineCap = style.cap;
      c.lineJoin = style.join;
      c.setLineDash(style.dashes);
      c.lineDashOffset = style.offset;
    }
    this[style.kind](stroke);
    c.restore();
  }

  path({ style, parts }) {
    const path = new Path2D(), place = style.snap ? this.snapped(style) : (v) => v;
    for (const part of parts) {
      const last = part.length - 2, closed = last > 2 && part[0] === part[last] && part[1] === part[last + 1];
      for (let i = 0; i <= last - 2 * closed; i += 2) path[i ? "lineTo" : "moveTo"](place(part[i]), place(part[i + 1]));
      if (closed) path.closePath();
    }
    this.paint(path, style);
  }

  // matplotlib moves lines along x or y to whole pixels of the screen, or to the middle of one.
  snapped(style) {
    const half = (Math.round((style.width ?? 0) * this.ratio) % 2) / 2;
    return (v) => (Math.floor(v * this.ratio + 0.5) + half) / this.ratio;
  }

  paint(path, { fill, line, hatch }) {
    if (fill) this.c.fill(path);
    if (hatch) {
      this.c.fillStyle = this.hatching(hatch);
      this.c.fill(path);
    }
    if (line) this.c.stroke(path);
  }

  hatching(hatch) {
    const key = JSON.stringify(hatch);
    if (!this.tiles.has(key)) {
      const size = Math.round(TILE * this.ratio), canvas = new OffscreenCanvas(size, size);
      const tile = canvas.getContext("2d"), shape = new Path2D(hatch.shape);
      tile.scale(size / TILE, size / TILE);
      tile.strokeStyle = tile.fillStyle = this.colour(hatch.line);
      tile.lineWidth = hatch.width;
      tile.lineCap = "butt";
      tile.fill(shape);
      tile.stroke(shape);
      const pattern = this.c.createPattern(canvas, "repeat");
      pattern.setTransform(new DOMMatrix().scale(TILE / size));
      this.tiles.set(key, pattern);
    }
    return this.tiles.get(key);
  }

  marks({ style, points }) {
    const shape = this.shape(style.shape), whole = (v) => Math.round(v * this.ratio) / this.ratio;
    for (let i = 0; i < points.length; i += 2) {
      const half = style.snap ? (Math.round(style.width * this.ratio) % 2) / 2 / this.ratio : 0;
      const [x, y] = [whole(points[i]) + half, whole(points[i + 1]) + half];
      this.c.translate(x, y);
      this.paint(shape, style);
      this.c.translate(-x, -y);
    }
  }

  text({ style, x, y, glyphs }) {
    const { c } = this;
    c.translate(x, y);
    c.rotate((-style.angle * Math.PI) / 180);
    for (const { glyph, x, y, size } of glyphs) {
      const scale = (size * style.size) / 100;
      c.translate(x, y);
      c.scale(scale, scale);
      c.fill(this.shape(this.glyphs[glyph]));
      c.scale(1 / scale, 1 / scale);
      c.translate(-x, -y);
    }
  }

  cells({ x, y, width, height, rows, columns, cells }) {
    const edge = (start, size, k, count) => Math.round((start + (size * k) / count) * this.ratio) / this.ratio;
    for (let i = 0; i < cells.length; i++) {
      const row = Math.floor(i / columns), column = i % columns;
      const [left, right] = [column, column + 1].map((k) => edge(x, width, k, columns));
      const [top, bottom] = [row, row + 1].map((k) => edge(y, height, k, rows));
      this.c.fillStyle = this.colour(cells[i]);
      this.c.fillRect(left, top, right - left, bottom - top);
    }
  }

  shape(svg) {
    if (!this.shapes.has(svg)) this.shapes.set(svg, new Path2D(svg));
    return this.shapes.get(svg);
  }
}

// ---- Reading numbers out ----------------------------------------------------------------------

// Axes as stroke_recorder.py tells them: a box in pixels, limits, scales and labels. This is one direction.
function scaleOf({ box, x, y }, direction) {
  const along = direction === "x", limits = along ? x : y;
  const [start, end] = along ? [box[0], box[0] + box[2]] : [box[1] + box[3], box[1]];
  const [to, from] = limits.log ? [Math.log10, (v) => 10 ** v] : [(v) => v, (v) => v];
  const [low, high] = limits.range.map(to);
  return {
    pixel: (value) => start + ((to(value) - low) / (high - low)) * (end - start),
    value: (pixel) => from(low + ((pixel - start) / (end - start)) * (high - low)),
    step: limits.log ? 0 : Math.abs((high - low) / (end - start) / UNIT), // what strokes can tell apart
  };
}

// A number with as many digits as a picture shows, and never -0.
function shortNumber(value, step) {
  if (!Number.isFinite(value)) return String(value);
  if (!step) return String(+value.toPrecision(2));
  return String(+value.toFixed(Math.min(9, Math.max(0, -Math.ceil(Math.log10(step))))) + 0);
}

// Where a line made of these parts is at this pixel; NaN where there is none.
function heightAt(parts, x) {
  for (const part of parts)
    for (let i = 0; i + 3 < part.length; i += 2) {
      const [x0, y0, x1, y1] = part.subarray(i, i + 4);
      const between = (x0 <= x && x <= x1) || (x1 <= x && x <= x0); // a reversed axis runs left
      if (between) return x0 === x1 ? y0 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
    }
  return NaN;
}

// A line called "relu: value" belongs to relu; one called "value" to no function in particular.
function ownerAndName(text) {
  const end = text.lastIndexOf(": ");
  return end < 0 ? { owner: "", name: text } : { owner: text.slice(0, end), name: text.slice(end + 2) };
}

const MANY = 4; // functions that fit into one text

// ---- Narrow pages -----------------------------------------------------------------------------

const SMALLEST_TEXT = 11; // pixels of the page

// How the parts of a picture flow in a room of this width: [x, y, width, height] of each part, where it
// goes, and the size of all. Each group of parts begins a new line. Lengths are pixels of the picture.
function flowed(groups, room) {
  const lines = [];
  for (const group of groups) {
    lines.push([]);
    for (const [x, y, width, height, ...labels] of group) {
      const taken = lines.at(-1).reduce((sum, [, , across]) => sum + across, 0);
      if (taken && taken + width > room) lines.push([]);
      if (labels.length && !lines.at(-1).length) lines.at(-1).push([labels[0], y, labels[1], labels[2]]);
      lines.at(-1).push([x, y, width, height]);
    }
  }
  const widths = lines.map((line) => line.reduce((sum, [, , width]) => sum + width, 0));
  const width = Math.max(room, ...widths), placed = [];
  let top = 0;
  lines.forEach((line, k) => {
    let left = (width - widths[k]) / 2;
    for (const part of line) {
      placed.push({ part, left, top });
      left += part[2];
    }
    top += Math.max(...line.map(([, , , height]) => height));
  });
  return { placed, width, height: top, widest: Math.max(...widths) };
}

// ---- The picture ------------------------------------------------------------------------------

const inside = ([x, y, width, height], [px, py]) => px >= x && px <= x + width && py >= y && py <= y + height;
const HIDDEN = "position:absolute;top:0;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)";

export class StrokePicture {
  // `size` in pixels of the page; `onDrag(values)` hears where a handle is dragged to.
  constructor(el, size, onDrag = () => {}) {
    this.size = size;
    this.onDrag = onDrag;
    this.shown = null; // what `show` was given last
    this.cursor = null; // where numbers are read out: axes and a value of x
    this.canvas = document.createElement("canvas");
    this.el = el;
    // the box that scrolls would cut off an outline around it
    this.canvas.style.cssText = "display:block;outline-offset:-3px";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.readout = document.createElement("div");
    this.readout.setAttribute("role", "status");
    this.readout.style.cssText = "min-height:1.5em;font-size:13px;line-height:1.5;font-variant-numeric:tabular-nums";
    this.text = document.createElement("div"); // what a search finds
    this.text.style.cssText = HIDDEN;
    el.classList.add("strokes");
    el.style.cssText += "position:relative;overflow-x:auto";
    el.append(this.canvas, this.readout, this.text);
    this.back = document.createElement("canvas"); // what does not move
    this.sheet = document.createElement("canvas"); // the whole picture, where the page shows its parts
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", () => (this.dragged = null));
    this.canvas.addEventListener("pointercancel", () => (this.dragged = null));
    this.canvas.addEventListener("pointerleave", () => this.dragged || this.point(null));
    this.canvas.addEventListener("click", (event) => this.move(event)); // a finger taps and is gone
    this.canvas.addEventListener("touchstart", (event) => this.touch(event), { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.point(null));
    const again = () => this.shown && this.prepare();
    const observer = new ResizeObserver(again), ends = [onColours(again), onPixelRatio(again)];
    observer.observe(el);
    this.dispose = () => {
      observer.disconnect();
      ends.forEach((end) => end());
    };
  }

  // {frame, moving}: strokes as Int16Array; {styles, glyphs, axes, parts, handles, words, summary}.
  show(shown) {
    const before = this.shown;
    this.shown = shown;
    this.canvas.setAttribute("aria-label", shown.summary);
    if (shown.words !== before?.words) this.text.textContent = shown.words.join(" · ");
    if (shown.frame !== before?.frame || !this.pen) this.prepare();
    else this.draw();
  }

  // Draw what does not move, for the colours and the resolution that the page has now.
  prepare() {
    const [width, height] = this.size;
    this.layOut();
    this.ratio = Math.max(1, window.devicePixelRatio || 1) * this.scale;
    const sheet = this.flow ? this.sheet : this.canvas;
    this.context = sheet.getContext("2d");
    for (const canvas of [sheet, this.back])
      Object.assign(canvas, { width: Math.round(width * this.ratio), height: Math.round(height * this.ratio) });
    if (this.flow)
      Object.assign(this.canvas, { width: Math.round(this.flow.width * this.ratio), height: Math.round(this.flow.height * this.ratio) });
    this.colours = pageColours(this.canvas);
    const map = colourMap(this.colours), back = this.back.getContext("2d");
    const pen = (context) => new Pen(context, this.ratio, map, this.shown.glyphs);
    for (const context of [back, this.context]) context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    back.fillStyle = this.paper = map("#ffffff");
    back.fillRect(0, 0, width, height);
    this.pen = pen(this.context);
    this.ink = map("#000000");
    const named = { lines: [], handles: [] };
    this.trace(this.shown.frame, pen(back), named);
    this.still = named.lines;
    this.draw();
    this.reserve();
  }

  // The whole picture, smaller where the page is narrow. Where its text would be too small to read, its
  // parts flow as words do: panels one below the other.
  layOut() {
    const [width, height] = this.size, room = Math.min(width, this.el.clientWidth || width);
    const texts = this.shown.styles.filter(({ kind }) => kind === "text").map(({ size }) => size);
    const least = Math.min(1, SMALLEST_TEXT / Math.min(...texts, 14));
    this.scale = room / width;
    this.flow = null;
    let shape = [width, height];
    if (this.scale < least) {
      const { widest } = flowed(this.shown.parts, room / least);
      this.scale = Math.min(1, Math.max(least, room / widest)); // as many side by side, but larger
      this.flow = flowed(this.shown.parts, Math.max(widest, room / this.scale));
      shape = [this.flow.width, this.flow.height];
    }
    const [across, down] = shape.map((length) => length * this.scale);
    Object.assign(this.canvas.style, { width: `${across}px`, height: `${down}px` });
  }

  draw() {
    const [width, height] = this.size, { moving, glyphs } = this.shown;
    this.pen.glyphs = glyphs;
    this.context.drawImage(this.back, 0, 0, width, height);
    this.handles = [];
    this.lines = [...this.still];
    this.trace(moving, this.pen, this);
    if (this.cursor) this.readOut();
    if (this.flow) this.showParts();
  }

  showParts() {
    const c = this.canvas.getContext("2d"), whole = (length) => Math.round(length * this.ratio);
    c.fillStyle = this.paper;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    for (const { part, left, top } of this.flow.placed) {
      const [x, y, width, height] = part.map(whole);
      c.drawImage(this.sheet, x, y, width, height, whole(left), whole(top), width, height);
    }
  }

  // Draw these strokes, and remember the lines and handles among them that have a name.
  trace(numbers, pen, { lines, handles }) {
    for (const stroke of strokes(numbers, this.shown.styles)) {
      pen.draw(stroke);
      const { name, kind } = stroke.style;
      if (name === "handle" && kind === "marks") handles.push([...stroke.points]);
      else if (name && kind === "path") lines.push(stroke);
    }
  }

  // ---- reading out

  // The named lines that share the x of these axes, with their own y scales. A name may start with its
  // function, the owner. If there are many owners, only the lines of one: all would be too long.
  readable(axes) {
    const starts = ({ clip }, { box }) => clip && Math.abs(clip[0] - box[0]) < 1 && Math.abs(clip[1] - box[1]) < 1;
    const found = this.shown.axes
      .filter((other) => String(other.x.range) === String(axes.x.range))
      .flatMap((other) => this.lines.filter(({ style }) => starts(style, other)).map((line) => ({ ...line, axes: other })))
      .map(({ style, ...line }) => ({ ...line, ...ownerAndName(style.name) }));
    const owners = new Set(found.map(({ owner }) => owner));
    const { owner } = found.find((line) => String(line.axes.box) === String(axes.box)) ?? {};
    return owners.size > MANY ? found.filter((line) => line.owner === owner) : found;
  }

  // The panels that are read out separately, each with its first axes.
  panels() {
    const panels = new Map();
    for (const axes of this.shown.axes.filter(({ read }) => read)) {
      const panel = this.panelOf(axes);
      if (!panels.has(panel)) panels.set(panel, axes);
    }
    return panels;
  }

  panelOf(axes) {
    const names = this.readable(axes).map(({ owner, name }) => `${owner}: ${name}`);
    return names.join() || this.shown.axes.indexOf(axes);
  }

  // What is read out at this x of these axes; `number` writes a number.
  sentence(axes, x, y, number) {
    const lines = this.readable(axes), owners = [...new Set(lines.map((line) => line.owner))];
    const readOut = ({ name, parts, axes: own }) => {
      const up = scaleOf(own, "y"), height = heightAt(parts, scaleOf(own, "x").pixel(x));
      return `${name} ${Number.isNaN(height) ? "not shown" : number(up.value(height), up.step)}`;
    };
    const texts = owners.map((owner) => {
      const own = lines.filter((line) => line.owner === owner).map(readOut).join(", ");
      return owner ? `${owner}: ${own}` : own;
    });
    const label = (text) => text.split(",")[0]; // what follows the comma explains it
    const across = `${label(axes.x.label) || "x"} = ${number(x, scaleOf(axes, "x").step)}`;
    if (!lines.length && y !== undefined) texts.push(`${label(axes.y.label) || axes.title || "y"} = ${number(y, scaleOf(axes, "y").step)}`);
    return [across, ...texts].join(owners.some(Boolean) ? "; " : ", ");
  }

  // Keep room for the longest text, or the page below it would move.
  reserve() {
    const probe = this.readout.cloneNode(), axes = [...this.panels().values()];
    probe.removeAttribute("role");
    probe.style.cssText += ";visibility:hidden;min-height:0";
    this.readout.after(probe);
    const heights = ["x", ...axes.map((each) => this.sentence(each, 0, 0, () => "not shown"))].map((text) => {
      probe.textContent = text;
      return probe.offsetHeight;
    });
    probe.remove();
    this.readout.style.minHeight = `${Math.max(...heights)}px`;
  }

  readOut() {
    const { axes, x, y } = this.cursor, lines = this.readable(axes), { context: c } = this;
    c.save();
    c.strokeStyle = c.fillStyle = this.ink;
    c.setLineDash([2, 3]);
    for (const other of new Set([axes, ...lines.map((line) => line.axes)])) {
      const pixel = scaleOf(other, "x").pixel(x);
      c.beginPath();
      c.moveTo(pixel, other.box[1]);
      c.lineTo(pixel, other.box[1] + other.box[3]);
      c.stroke();
    }
    if (!lines.length && y !== undefined) {
      const pixel = scaleOf(axes, "y").pixel(y); // two lines cross where the pointer is, on no curve
      c.beginPath();
      c.moveTo(axes.box[0], pixel);
      c.lineTo(axes.box[0] + axes.box[2], pixel);
      c.stroke();
    }
    for (const { parts, axes: own } of lines) {
      const pixel = scaleOf(own, "x").pixel(x);
      c.beginPath();
      c.arc(pixel, heightAt(parts, pixel), 3, 0, 7);
      c.fill();
    }
    c.restore();
    this.readout.textContent = this.sentence(axes, x, y, shortNumber);
  }

  point(cursor) {
    if (!cursor && !this.cursor) return;
    this.cursor = cursor;
    if (!cursor) this.readout.textContent = "";
    this.draw();
  }

  // Where an event is in the picture. A handle that is dragged stays in its part.
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / this.scale, (event.clientY - box.top) / this.scale];
    if (!this.flow) return [x, y];
    const under = ({ part, left, top }) => inside([left, top, part[2], part[3]], [x, y]);
    this.touched = (this.dragged && this.touched) || this.flow.placed.find(under);
    if (!this.touched) return [-1, -1];
    const { part, left, top } = this.touched;
    return [x - left + part[0], y - top + part[1]];
  }

  move(event) {
    if (!this.shown) return;
    const place = this.place(event);
    if (this.dragged) return this.drag(place);
    const axes = this.shown.axes.find(({ box, read }) => read && inside(box, place));
    this.point(axes && { axes, x: scaleOf(axes, "x").value(place[0]), y: scaleOf(axes, "y").value(place[1]) });
    this.canvas.style.cursor = this.handleAt(place) ? "grab" : "";
  }

  // Left and right move along x, up and down to another panel.
  key(event) {
    const along = { ArrowLeft: -1, ArrowRight: 1, Home: -1000, End: 1000 }[event.key] ?? 0;
    const down = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0, panels = this.shown ? this.panels() : new Map();
    if (!panels.size || !(along || down)) return;
    event.preventDefault();
    event.stopPropagation(); // or JupyterLab selects another cell
    const all = [...panels.values()], now = this.cursor?.axes ?? all[0];
    const axes = down ? all[[...panels.keys()].indexOf(this.panelOf(now)) + down] ?? now : now;
    const [left, , width] = axes.box, across = scaleOf(axes, "x"), stays = this.cursor && String(axes.x.range) === String(now.x.range);
    const pixel = (stays ? across.pixel(this.cursor.x) : left + width / 2) + (along * (event.shiftKey ? 10 : 1) * width) / 100;
    this.point({ axes, x: across.value(Math.min(left + width, Math.max(left, pixel))) });
  }

  // ---- dragging

  handleAt([x, y]) {
    const near = this.handles.findIndex(([hx, hy]) => Math.hypot(hx - x, hy - y) < 24);
    return near < 0 ? null : this.shown.handles[near];
  }

  press(event) {
    this.dragged = this.shown && this.handleAt(this.place(event));
    if (!this.dragged) return;
    this.canvas.setPointerCapture(event.pointerId);
    event.preventDefault(); // or the mouse would select text
  }

  // A finger on a handle drags it; anywhere else it scrolls the page.
  touch(event) {
    if (this.shown && this.handleAt(this.place(event.touches[0]))) event.preventDefault();
  }

  drag([x, y]) {
    const { axes, names } = this.dragged, [own] = [this.shown.axes[axes]], values = {};
    if (names[0]) values[names[0]] = scaleOf(own, "x").value(x);
    if (names[1]) values[names[1]] = scaleOf(own, "y").value(y);
    this.onDrag(values);
  }
}

// ---- Live: the front end of an anywidget ------------------------------------------------------

const LOST = "The kernel has stopped. This is the last picture that it made; run the cell again for a new one.";

// The status of a kernel, or of the page's connection to it.
const GONE = ["dead", "terminating", "restarting", "autorestarting", "starting", "disconnected"];

// Calls `lost` once, when the kernel of this widget stops or restarts. Returns a function that stops it.
function onLostKernel(model, lost) {
  const { statusChanged, connectionStatusChanged, iopubMessage, disposed } = model.widget_manager?.kernel ?? {};
  const signals = [statusChanged, connectionStatusChanged, iopubMessage].filter(Boolean);
  // A kernel that another page restarts says so, but its new status may come before anybody listens.
  const hear = (_, message) => (GONE.includes(message) || message.header?.msg_type === "shutdown_reply") && gone();
  const end = () => {
    signals.forEach((signal) => signal.disconnect(hear));
    disposed?.disconnect(gone);
  };
  const gone = () => {
    end();
    lost();
  };
  signals.forEach((signal) => signal.connect(hear));
  disposed?.connect(gone);
  return end;
}

// ipywidgets names the row of a slider, but not the handle that has the focus. Controls may come later.
function nameHandles(el) {
  const name = () => el.closest(".widget-vbox")?.querySelectorAll(".widget-slider").forEach((row) =>
    row.querySelectorAll("[role=slider]").forEach((handle) => (handle.ariaLabel = row.querySelector("label").innerText)));
  const observer = new MutationObserver(name);
  requestAnimationFrame(() => observer.observe(el.closest(".widget-vbox") ?? el, { childList: true, subtree: true }));
  name();
  return () => observer.disconnect();
}

function render({ model, el }) {
  const picture = new StrokePicture(el, model.get("size"), (values) => model.send(values));
  const numbers = (name) => {
    const { buffer, byteOffset, byteLength } = model.get(name);
    return new Int16Array(buffer.slice(byteOffset, byteOffset + byteLength));
  };
  const show = () => {
    const tables = Object.fromEntries(["styles", "glyphs", "axes", "parts", "handles", "words", "summary"].map((name) => [name, model.get(name)]));
    const frame = picture.source === model.get("frame") ? picture.shown.frame : numbers("frame");
    picture.source = model.get("frame");
    picture.show({ ...tables, frame, moving: numbers("moving") });
  };
  model.on("change", show); // once a message, whatever is in it
  show();
  const moves = model.get("moving").byteLength > 0; // what never moves stays true without a kernel
  const forget = nameHandles(el);
  const end = onLostKernel(model, () => {
    if (!moves) return;
    picture.canvas.style.opacity = 0.4;
    const alert = Object.assign(document.createElement("div"), { role: "alert", textContent: LOST });
    alert.style.color = "var(--jp-error-color1, #b00020)";
    el.append(alert);
  });
  return () => {
    model.off("change", show);
    end();
    forget();
    picture.dispose();
  };
}

// ---- Frozen: all settings of an explorer, in a page without a kernel ---------------------------

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

// What zlib compressed and base64 wrote.
async function unpacked(text) {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// Each number was written as its difference from the one two places before: x from x, y from y.
function summed(buffer) {
  const numbers = new Int16Array(buffer);
  for (let i = 2; i < numbers.length; i++) numbers[i] += numbers[i - 2];
  return numbers;
}

// A native control for {name, kind, values}; `chosen` hears the place of the value.
function controlFor({ name, kind, values }, start, chosen) {
  const row = document.createElement("label");
  row.style.cssText = "display:flex;gap:0.7em;align-items:center;min-width:0;max-width:100%";
  const label = Object.assign(document.createElement("span"), { textContent: name });
  const readout = document.createElement("output");
  let control, choose;
  if (kind === "slider") {
    control = Object.assign(document.createElement("input"), { type: "range", min: 0, max: values.length - 1 });
    row.style.cssText += ";flex:1 1 230px;max-width:min(600px, 100%)";
    control.style.cssText = "flex:1;min-width:0";
    choose = (place) => {
      control.value = place;
      readout.value = values[place];
      control.setAttribute("aria-valuetext", values[place]);
    };
    control.addEventListener("input", () => chosen(+control.value));
  } else if (kind === "tick") {
    control = Object.assign(document.createElement("input"), { type: "checkbox" });
    choose = (place) => (control.checked = place === 1);
    control.addEventListener("change", () => chosen(+control.checked));
  } else {
    control = document.createElement("select");
    control.style.minWidth = 0; // a long choice is cut off, or it would widen the page
    control.append(...values.map((value) => new Option(value)));
    choose = (place) => (control.selectedIndex = place);
    control.addEventListener("change", () => chosen(control.selectedIndex));
  }
  choose(start);
  row.append(label, control, readout);
  return { row, choose };
}

// A button that runs a slider to its end, a stop each `interval` milliseconds, and pauses it. Where
// motion is reduced, it advances by one stop instead. `now()` is the place of the slider.
function playButton({ name, values, interval }, now, chosen) {
  const button = document.createElement("button"), calm = matchMedia("(prefers-reduced-motion: reduce)");
  let clock = null;
  button.style.minWidth = `${`Pause ${name}`.length + 3}ch`; // or what is beside it would jump
  const run = (on) => {
    clearInterval(clock);
    clock = on ? setInterval(advance, interval) : null;
    button.textContent = `${calm.matches ? "Advance" : on ? "Pause" : "Play"} ${name}`;
  };
  const advance = () => {
    chosen((now() + 1) % values.length); // from its end, it starts again
    if (now() === values.length - 1 || !button.isConnected) run(false);
  };
  button.addEventListener("click", () => {
    if (clock) return run(false);
    run(!calm.matches);
    advance();
  });
  calm.addEventListener("change", () => run(false));
  run(false);
  return button;
}

// Buttons for settings that are worth seeing: {label, options: [text, what it sets, places] of each}.
function rowOfTries({ label, options }, chosen) {
  const row = document.createElement("div"), name = document.createElement("span");
  row.style.cssText = "display:flex;flex-wrap:wrap;gap:0.5em;align-items:center;margin:4px 0";
  name.textContent = label;
  row.append(name, ...options.map(([text, title, places]) => {
    const button = Object.assign(document.createElement("button"), { textContent: text, title });
    button.addEventListener("click", () => chosen(places));
    return button;
  }));
  return row;
}

// Shows what freezing.py wrote, in this element.
export async function showFrozen(el, state) {
  const [moving, ends, frames, texts] = await Promise.all(
    [state.moving, state.ends, state.frames, state.texts].map(unpacked),
  );
  const all = summed(moving), end = new Int32Array(ends), shownTexts = JSON.parse(new TextDecoder().decode(texts));
  const backs = JSON.parse(new TextDecoder().decode(frames)).map((back) => ({ ...back, frame: new Int16Array(bytes(back.frame).buffer) }));
  const at = state.controls.map(({ start }) => start);
  const place = () => at.reduce((k, i, j) => k * state.controls[j].values.length + i, 0);
  const size = backs[0].size, box = document.createElement("div");
  box.style.cssText = `display:flex;flex-wrap:wrap;gap:4px 1em;align-items:center;max-width:${size[0]}px;margin:4px 0`;
  const made = state.controls.map((control, j) => controlFor(control, control.start, (i) => choose({ [j]: i })));
  box.append(...made.map(({ row }) => row));
  state.controls.forEach((control, j) => {
    if (control.interval) made[j].row.after(playButton(control, () => at[j], (i) => choose({ [j]: i })));
  });
  el.append(...state.tries.map((row) => rowOfTries(row, choose)));
  const drawn = document.createElement("div"), both = el.appendChild(document.createElement("div"));
  both.append(drawn, box);
  both.style.cssText = "display:flex;flex-wrap:wrap;align-items:center";
  drawn.style.cssText = `flex:0 1 ${state.beside ? `${size[0]}px` : "100%"};min-width:0`;
  box.style.cssText += `;min-width:0;${state.beside ? "flex:1 1 230px;max-width:360px" : "flex:1 1 100%"}`;
  const slim = matchMedia("(max-width: 600px)"); // where panels stand in a column, controls go first
  const order = () => (box.style.order = slim.matches ? -1 : 0);
  slim.addEventListener("change", order);
  order();
  const status = el.appendChild(document.createElement("div"));
  status.style.whiteSpace = "pre-line"; // an error has lines
  // To the nearest value that was kept of each control.
  const nearest = (j, value) => state.controls[j].numbers.reduce((best, n, i, all) => (Math.abs(n - value) < Math.abs(all[best] - value) ? i : best), 0);
  const move = (values) => choose(Object.fromEntries(Object.entries(values).map(([name, value]) => {
    const j = state.controls.findIndex((control) => control.name === name);
    return [j, nearest(j, value)];
  })));
  const picture = new StrokePicture(drawn, size, move);
  function choose(places) {
    for (const [j, i] of Object.entries(places)) made[j].choose((at[j] = i));
    const k = place(), [frame, text] = shownTexts[k];
    status.textContent = text;
    status.setAttribute("role", frame < 0 ? "alert" : "status");
    status.style.color = frame < 0 ? "var(--jp-error-color1, #b00020)" : "";
    if (frame < 0) return; // this setting raises: the last picture stays, and the line says why
    const strokes = all.subarray(k ? end[k - 1] : 0, end[k]);
    picture.show({ ...state, ...backs[frame], moving: strokes, summary: text });
  }
  choose({});
  return picture;
}

export default { render };
