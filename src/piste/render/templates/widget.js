// The widget of a notebook. Python computes every number; here they are only drawn.
// Data becomes text and attributes, never markup.

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function wordsOf(view) {
  let first = true;
  return view.parts.map(([text, players, hue, level]) => {
    if (!players.length) return document.createTextNode(text);
    const attributes = { class: "w", role: "button", tabindex: first ? 0 : -1, "aria-pressed": "false" };
    first = false;
    return make("span", { ...attributes, "data-p": players.join(" "), "data-hue": hue, "data-k": level }, text);
  });
}

function keyOf({ ends, sides, label }) {
  const [low, high] = sides.length ? sides : ["weighs less", "weighs more"];
  const hues = sides.length ? [["a", [10, 7, 4, 2]], ["f", [2, 4, 7, 10]]] : [["w", [2, 4, 7, 10]]];
  const ramp = make("i", { "aria-hidden": "true" });
  for (const [hue, levels] of hues) {
    for (const level of levels) ramp.append(make("b", { "data-hue": hue, "data-k": level }));
  }
  const ahead = sides.length ? `${high} ${label}` : high;
  return make("p", { class: "key" }, `${low} ${ends[0]} `, ramp, ` ${ends[1]} ${ahead}`);
}

function rowOf({ title, score, error, share, percent, says }) {
  const bar = make("td");
  if (share !== null) bar.append(make("progress", { value: share, max: 1, "aria-label": `${title}: ${percent}` }));
  return make("tr", {}, make("th", { scope: "row" }, title), bar, make("td", {}, percent),
    make("td", {}, `${score} ${error}`), make("td", {}, says));
}

function render({ model, el }) {
  const view = model.get("view");
  const text = make("div", { class: "text", dir: "auto", role: "group", "aria-label": `The text; click ${view.unit}s away` });
  text.append(...wordsOf(view));
  const hint = make("p", { class: "hint" }, `Click ${view.unit}s to take them out, click again to put them back.`);
  const answer = make("div", { class: "answer", role: "status" });
  el.classList.add("piste-widget");
  el.append(make("p", { class: "headline" }, view.headline), text, keyOf(view), hint, answer);
  const words = [...text.querySelectorAll(".w")];
  const playersOf = (word) => word.dataset.p.split(" ").map(Number);

  function strike() {
    const removed = new Set(model.get("removed"));
    for (const word of words) {
      const out = playersOf(word).every((player) => removed.has(player));
      word.classList.toggle("out", out);
      word.setAttribute("aria-pressed", out);
    }
  }

  function show() {
    const { rows = [], note = "" } = model.get("answer");
    answer.replaceChildren();
    if (rows.length) answer.append(make("table", {}, make("tbody", {}, ...rows.map(rowOf))));
    if (rows.length) answer.append(make("p", { class: "hint" }, `${view.label}: ${view.scale}`));
    if (note) answer.append(make("p", {}, note));
  }

  function toggle(word) {
    const removed = new Set(model.get("removed"));
    const players = playersOf(word);
    const back = players.every((player) => removed.has(player));
    for (const player of players) (back ? removed.delete(player) : removed.add(player));
    model.set("removed", [...removed].sort((a, b) => a - b));
    model.save_changes();
    strike();
  }

  function walk(word, key) {
    const ahead = getComputedStyle(text).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: ahead, ArrowLeft: -ahead, ArrowDown: 1, ArrowUp: -1 };
    const next = words[words.indexOf(word) + steps[key]];
    if (!next) return false;
    word.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    return true;
  }

  text.addEventListener("click", (event) => {
    const word = event.target.closest(".w");
    if (word) toggle(word);
  });
  text.addEventListener("keydown", (event) => {
    const word = event.target.closest(".w");
    if (!word) return;
    const pressed = event.key === "Enter" || event.key === " ";
    if (pressed) toggle(word);
    // A notebook has keys of its own; those used here must not reach it.
    if (pressed || walk(word, event.key)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
  model.on("change:removed", strike);
  model.on("change:answer", show);
  strike();
  show();
  return () => {
    model.off("change:removed", strike);
    model.off("change:answer", show);
  };
}

export default { render };
