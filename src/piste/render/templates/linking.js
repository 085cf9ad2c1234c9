"use strict";
// Linked words, points and rows: whatever is hovered or focused lights everything of its group.
// The reports show one explanation; the served page shows one after the other.
function linking() {
  const tip = document.getElementById("tip");
  const drawing = document.getElementById("arcs"); // between words; a comparison has none
  let data = { groups: [] };
  let byGroup = new Map();
  let times = new Map();
  let wordOf = new Map(); // the words of the text by player
  const PARTNERS = 4; // words that are shown to act together with one
  const playersOf = (element) => element.dataset.p.split(" ").map(Number);
  const groupsOf = (element) => new Set(playersOf(element).map((p) => data.groups[p]));

  // Take up what the page shows now.
  function show(given) {
    dark();
    data = given;
    byGroup = new Map();
    times = new Map();
    wordOf = new Map();
    for (const word of document.querySelectorAll("#text .w")) {
      for (const player of playersOf(word)) wordOf.set(player, word);
    }
    for (const element of document.querySelectorAll("[data-p]:not(.chip, .pair)")) {
      for (const group of groupsOf(element)) {
        if (!byGroup.has(group)) byGroup.set(group, []);
        byGroup.get(group).push(element);
      }
    }
    for (const group of data.groups) times.set(group, (times.get(group) || 0) + 1);
  }

  const signed = (x) => {
    if (x === null) return "–";
    if (x === 0) return "0";
    const size = Math.abs(x);
    const digits = size >= 0.005 && size < 10000 ? size.toFixed(2) : power(size);
    return (x > 0 ? "+" : "−") + digits;
  };

  const power = (size) => size.toExponential(1).replace("e+", "e").replace("-", "−");

  const margin = (error) => (error ? ` ±${error >= 0.005 && error < 100 ? error.toFixed(2) : power(error)}` : "");

  let lit = [];
  let partners = [];

  function light(source) {
    dark();
    const groups = groupsOf(source);
    const pair = source.matches(".pair");
    for (const group of groups) lit.push(...(byGroup.get(group) || []));
    if (pair) lit = lit.filter((element) => !element.matches("#text .w"));
    if (pair) lit.push(source, ...playersOf(source).map((player) => wordOf.get(player)).filter(Boolean));
    for (const element of lit) element.classList.add("on");
    for (const group of groups) nameMarks(group);
    if (pair) join(...playersOf(source), source.dataset.side);
    if (source.matches("#text .w")) for (const player of playersOf(source)) link(player);
    tell(source);
  }

  // What acts together with a player, strongest first: [partner, interaction, error].
  const partnersOf = (player) => (data.pairs || [])
    .filter(([first, second]) => first === player || second === player)
    .slice(0, PARTNERS)
    .map(([first, second, effect, error]) => [first === player ? second : first, effect, error]);

  function link(player) {
    for (const [partner, effect] of partnersOf(player)) {
      const word = wordOf.get(partner);
      if (!word) continue;
      word.classList.add("with");
      word.dataset.side = effect > 0 ? "f" : "a";
      partners.push(word);
      join(player, partner, word.dataset.side);
    }
  }

  // An arc below the text from one word to the other.
  function join(first, second, side) {
    const [from, to] = [wordOf.get(first), wordOf.get(second)];
    if (!from || !to || from === to || !drawing) return;
    const [a, b] = [from, to].map((word) => word.getClientRects()[0]);
    const seen = document.getElementById("text").getBoundingClientRect(); // a long text scrolls in it
    const [x1, x2] = [a, b].map((box) => scrollX + box.left + box.width / 2);
    const [y1, y2] = [a, b].map((box) => scrollY + Math.min(Math.max(box.bottom, seen.top), seen.bottom));
    const low = Math.max(y1, y2) + Math.min(34, 10 + Math.abs(x1 - x2) / 12);
    const path = document.createElementNS(drawing.namespaceURI, "path");
    path.setAttribute("d", `M${x1} ${y1}C${x1} ${low} ${x2} ${low} ${x2} ${y2}`);
    path.dataset.side = side;
    drawing.append(path);
  }

  function dark() {
    for (const element of lit) element.classList.remove("on");
    for (const word of partners) word.classList.remove("with");
    drawing?.replaceChildren();
    lit = [];
    partners = [];
    for (const name of document.querySelectorAll(".now")) name.textContent = "";
    tip.hidden = true;
  }

  // A point without a label of its own gets one while it is lit.
  function nameMarks(group) {
    const elements = byGroup.get(group) || [];
    for (const mark of elements.filter((e) => e.matches("circle.mark"))) {
      const chart = mark.ownerSVGElement;
      if (elements.some((e) => e.matches(".name") && e.ownerSVGElement === chart)) continue;
      const x = mark.cx.baseVal.value;
      const right = x > chart.viewBox.baseVal.width * 0.65;
      const name = chart.querySelector(".now");
      name.setAttribute("x", x + (right ? -12 : 12));
      name.setAttribute("y", mark.cy.baseVal.value + 4);
      name.setAttribute("text-anchor", right ? "end" : "start");
      name.textContent = data.labels[playersOf(mark)[0]];
    }
  }

  function tell(source) {
    if (source.matches("tr, .pair")) return;
    tip.replaceChildren();
    for (const player of playersOf(source)) describe(player);
    tip.hidden = false;
    const box = source.getClientRects()[0] || source.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const above = box.top > tip.offsetHeight + 12;
    tip.style.left = `${scrollX + Math.max(8, Math.min(box.left, room))}px`;
    tip.style.top = `${scrollY + (above ? box.top - tip.offsetHeight - 8 : box.bottom + 8)}px`;
  }

  function describe(player) {
    const count = times.get(data.groups[player]);
    const title = document.createElement("b");
    title.textContent = data.labels[player] + (count > 1 ? ` (${count} times)` : "");
    tip.append(title);
    for (const name of data.told || data.names) {
      line(name, signed(data.scores[name][player]) + margin(data.errors[name]?.[player]));
    }
    for (const [partner, effect, error] of partnersOf(player)) {
      line(`with ${data.labels[partner]}`, signed(effect) + margin(error));
    }
  }

  function line(...words) {
    const row = document.createElement("div");
    for (const word of words) row.append(Object.assign(document.createElement("span"), { textContent: word }));
    tip.append(row);
  }

  const source = (event) => event.target.closest?.("[data-p]:not(.chip)");
  const focused = () => document.activeElement?.closest("[data-p]");
  const settle = () => (focused() ? light(focused()) : dark());
  document.addEventListener("pointerover", (event) => (source(event) ? light(source(event)) : settle()));
  document.documentElement.addEventListener("pointerleave", settle);
  document.addEventListener("focusin", settle);
  document.addEventListener("focusout", dark);

  // Each text or chart is one stop of the Tab key; arrows walk inside it.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return dark();
    const walk = event.target.closest("[data-walk]");
    if (!walk || event.ctrlKey || event.metaKey || event.altKey) return;
    const stops = [...walk.querySelectorAll("[tabindex]")];
    const next = neighbour(stops, stops.indexOf(event.target), event.key, walk);
    if (!next) return;
    event.preventDefault();
    stopAt(walk, next);
    next.focus();
  });

  function neighbour(stops, at, key, walk) {
    const ahead = getComputedStyle(walk).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: ahead, ArrowLeft: -ahead, ArrowDown: 1, ArrowUp: -1 };
    if (key === "Home") return stops[0];
    if (key === "End") return stops[stops.length - 1];
    return stops[at + steps[key]];
  }

  function stopAt(walk, next) {
    for (const stop of walk.querySelectorAll('[tabindex="0"]')) stop.tabIndex = -1;
    next.tabIndex = 0;
  }

  document.addEventListener("pointerdown", (event) => {
    const walk = event.target.closest("[data-walk]");
    if (walk && event.target.matches("[tabindex]")) stopAt(walk, event.target);
  });

  // Colouring by another score.
  function colour(name) {
    const weight = data.weights.includes(name);
    const shades = data.shades[name];
    for (const element of document.querySelectorAll("#text [data-hue], .mark, .chip")) {
      const strength = playersOf(element)
        .map((player) => shades[player])
        .reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
      element.dataset.hue = weight ? "w" : strength > 0 ? "f" : "a";
      element.dataset.k = Math.floor(Math.abs(strength) * 10 + 0.5);
    }
    document.getElementById("key-sides").hidden = weight;
    document.getElementById("key-weight").hidden = !weight;
  }

  return { show, dark, colour, playersOf, signed, margin };
}
