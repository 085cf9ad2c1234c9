// Everything that is drawn. Data becomes text and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function set(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const el = (name, attributes = {}, ...children) => set(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => set(document.createElementNS(SVG, name), attributes, children);

export const percent = (share) => {
  if (share > 0.9995) return "over 99.9\u00a0%";
  if (share < 0.0005) return "under 0.1\u00a0%";
  return `${(share * 100).toFixed(share >= 0.1 && share < 0.99 ? 0 : 1)}\u00a0%`;
};

const hueOf = (view, strength) => (view.weights.includes(view.primary) ? "w" : strength > 0 ? "f" : "a");
const levelOf = (strength) => Math.floor(Math.abs(strength) * 10 + 0.5);

function coloured(view, players) {
  const shades = view.shades[view.primary];
  const strength = players.map((p) => shades[p]).reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
  return { "data-p": players.join(" "), "data-hue": hueOf(view, strength), "data-k": levelOf(strength) };
}

export function words(view) {
  let first = true;
  return view.parts.map(([text, players]) => {
    if (!players.length) return document.createTextNode(text);
    const tabindex = first ? 0 : -1;
    first = false;
    const attributes = { class: "w", tabindex, role: "button", "aria-pressed": false, draggable: true };
    return el("span", { ...attributes, ...coloured(view, players) }, text);
  });
}

// Two words that act together: hovered or focused, it lights both.
export function linked({ players, side, text }, index) {
  return el("li", { class: "pair", tabindex: index ? -1 : 0, "data-p": players.join(" "), "data-side": side }, text);
}

export function bar(share) {
  const part = svg("rect", { class: "part", width: (share * 100).toFixed(2), height: 6 });
  const rest = svg("rect", { class: "rest", width: 100, height: 6 });
  return svg("svg", { class: "share", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": true }, rest, part);
}

// From the base to the score, a row a word; linked: its rows light the words of the page's text.
export function waterfall({ base, score, steps }, scale, link, linked, range = reach([{ base, score, steps }])) {
  const [low, high] = range;
  const x = (value) => 2 + (96 * (value - low)) / (high - low || 1);
  const end = (title, value) => step(title, [value, value], x, link.signed(value), { class: "end" });
  const largest = Math.max(0, ...steps.map(({ start, end }) => Math.abs(end - start)));
  const rows = steps.map(({ label, start, end, error, player }) => {
    const change = [link.signed(end - start, largest), error ? el("small", {}, link.margin(error, largest)) : ""];
    return step(label, [start, end], x, change, linked && player !== null ? { "data-p": player } : {});
  });
  const body = el("tbody", {}, end("empty text", base), ...rows, end("whole text", score));
  return el("table", { class: "fall" }, el("caption", { class: "unseen" }, `From the empty text to the whole text, in ${scale}`), body);
}

// From where to where waterfalls go, 0 included: side by side they share it.
export function reach(falls) {
  const all = falls.flatMap(({ base, score, steps }) => [base, score, 0, ...steps.flatMap(({ start, end }) => [start, end])]);
  return [Math.min(...all), Math.max(...all)];
}

function step(title, [start, end], x, told, attributes) {
  const [from, to] = [start, end].map(x).sort((a, b) => a - b);
  const kind = start === end ? "stand" : end > start ? "up" : "down";
  const zero = svg("line", { class: "zero", x1: x(0), x2: x(0), y1: -2, y2: 12 });
  const mark = svg("rect", { class: kind, x: from - (start === end ? 0.6 : 0), width: Math.max(to - from, start === end ? 1.2 : 0.4), y: 1, height: 8 });
  const drawing = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": true }, zero, mark);
  return el("tr", attributes, el("th", { scope: "row" }, el("bdi", {}, title)), el("td", { class: "span" }, drawing), el("td", {}, ...[told].flat()));
}

function grid(across, up, [left, top, right, bottom]) {
  const kind = (text) => (text === "0" ? "zero" : "grid");
  return [
    ...across.flatMap(([x, text]) => [
      svg("line", { class: kind(text), x1: x, x2: x, y1: top, y2: bottom }),
      svg("text", { class: "tick", x, y: bottom + 15, "text-anchor": "middle" }, text),
    ]),
    ...up.flatMap(([y, text]) => [
      svg("line", { class: kind(text), x1: left, x2: right, y1: y, y2: y }),
      svg("text", { class: "tick", x: left - 6, y: y + 4, "text-anchor": "end" }, text),
    ]),
  ];
}

function axes(view, [left, top, right, bottom]) {
  const name = view.scatter ? "value" : view.primary;
  const sided = view.scatter || view.sided;
  const ahead = sided ? `${name}: for ${view.label.slice(0, 20)} →` : `${name}: weighs more →`;
  return [
    svg("text", { class: "axis", x: right, y: bottom + 33, "text-anchor": "end" }, ahead),
    sided ? svg("text", { class: "axis", x: left, y: bottom + 33 }, "← against") : null,
    view.scatter
      ? svg("text", { class: "axis", transform: "rotate(-90)", x: -top, y: 12, "text-anchor": "end" }, "importance: weighs more →")
      : null,
  ];
}

function leader({ line }) {
  if (!line) return null;
  const [[x1, y1], [x2, y2]] = line;
  return svg("line", { class: "leader", x1, y1, x2, y2 });
}

function errorBars({ error, x, y }) {
  if (!error) return null;
  const [left, top, right, bottom] = error;
  return svg("path", { class: "error", d: `M${left} ${y}H${right}M${x} ${top}V${bottom}` });
}

function mark(view, point, index) {
  const shared = { class: "mark", tabindex: index ? -1 : 0, role: "img", "aria-label": point.said };
  const shape = view.scatter
    ? svg("circle", { ...shared, cx: point.x, cy: point.y, r: 5 })
    : svg("rect", { ...shared, x: point.x, y: point.y, width: point.width, height: 16 });
  return set(shape, coloured(view, [point.player]), []);
}

function name(view, { player, x, y, text }) {
  const anchor = view.scatter ? null : "end";
  return svg("text", { class: "name", x, y, "text-anchor": anchor, "aria-hidden": true, "data-p": player }, text);
}

export function chart(view, given) {
  const title = view.scatter ? "Value against importance" : `Strongest ${view.unit}s`;
  const attributes = {
    class: `chart ${given.kind}`,
    viewBox: `0 0 ${given.size.join(" ")}`,
    role: "group",
    "data-walk": "",
    "aria-label": `${title}; arrow keys move between ${view.unit}s`,
  };
  return svg(
    "svg",
    attributes,
    ...grid(given.across, given.up, given.frame),
    ...axes(view, given.frame),
    ...given.labels.map(leader),
    ...given.marks.map(errorBars),
    ...given.marks.map((point, index) => mark(view, point, index)),
    ...given.labels.map((label) => name(view, label)),
    view.scatter ? svg("text", { class: "now", "aria-hidden": true }) : null,
  );
}

// One row a method: its name and cost, and the text as it colours it.
export function row({ name: method, spent, parts, measured }, likeness) {
  const figures = Object.entries(measured ?? {}).map(([title, figure]) => el("small", {}, `${title} ${figure}`));
  const alike = likeness === null ? null : el("small", {}, `ranks like the first: ${likeness}`);
  const head = el("h3", {}, method, el("small", {}, spent), alike, ...figures);
  const text = el("div", { class: "text", dir: "auto", lang: "", role: "region", tabindex: 0, "aria-label": `The text, coloured by ${method}` });
  for (const [piece, players, hue, level] of parts) {
    const link = { class: "w", "data-p": players.join(" "), "data-hue": hue, "data-k": level };
    text.append(players.length ? el("span", link, piece) : piece);
  }
  return el("article", {}, head, text);
}

// How the answer falls while words go: ours as a line, random orders as a dashed one.
export function curve(deletion, kind, width) {
  const [height, frame] = [250, [46, 12, width - 16, 206]];
  const [left, top, right, bottom] = frame;
  const all = [...deletion.by_score, ...deletion.at_random];
  const sure = deletion.scale === "probability";
  const [low, high] = sure ? [0, 1] : [Math.min(0, ...all), Math.max(0, ...all) || 1];
  const x = (share) => left + share * (right - left);
  const y = (score) => bottom - ((score - low) / (high - low)) * (bottom - top);
  const path = (scores) => scores.map((score, i) => `${i ? "L" : "M"}${x(deletion.removed[i]).toFixed(1)} ${y(score).toFixed(1)}`).join("");
  const across = [0, 0.25, 0.5, 0.75, 1].map((share) => [x(share), share ? `${share * 100} %` : "0"]);
  const up = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const score = low + part * (high - low);
    return [y(score), sure ? (score ? `${score * 100} %` : "0") : score.toFixed(1).replace("-", "−")];
  });
  return svg(
    "svg",
    { class: `chart ${kind}`, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "curve-said" },
    ...grid(across, up, frame),
    svg("text", { class: "axis", x: right, y: bottom + 33, "text-anchor": "end" }, "words removed →"),
    svg("path", { class: "chance", d: path(deletion.at_random) }),
    svg("path", { class: "ours", d: path(deletion.by_score) }),
  );
}
