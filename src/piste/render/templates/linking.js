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
  let bowOf = new Map(); // the arcs that are always there, by their two players
  const LEVEL = 15; // height of an arc above the next lower one
  const stage = prepared();
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
    bows();
  }

  // largest: of the numbers beside it; what nobody reads beside it is 0.00.
  const lost = (size, largest) => size < Math.max(largest / 1000, Math.min(largest / 200, 0.005));
  const signed = (x, largest = 0) => {
    if (x === null) return "–";
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (lost(size, largest)) return "0.00";
    return (x > 0 ? "+" : "−") + (size < 10000 ? short(size) : power(size));
  };

  const short = (size) => (size < 0.0005 ? power(size) : size.toFixed(size < 0.005 ? 3 : 2));
  const power = (size) => size.toExponential(1).replace("e+", "e").replace("-", "−");

  const margin = (error, largest = 0) => {
    if (!error) return "";
    if (lost(error, largest)) return " ±0.00";
    return ` ±${error < 100 ? short(error) : error < 10000 ? Math.round(error).toLocaleString("en") : power(error)}`;
  };

  let [lit, partners] = [[], []];

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
    stage?.firstElementChild.classList.toggle("some", stage.querySelector(".bows .on") !== null);
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
    const bow = bowOf.get([first, second].sort().join());
    if (bow) return bow.classList.add("on");
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
    stage?.firstElementChild.classList.remove("some");
    for (const bow of bowOf.values()) bow.classList.remove("on");
    [lit, partners] = [[], []];
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
      const largest = Math.max(0, ...data.scores[name].map(Math.abs));
      line(name, signed(data.scores[name][player], largest) + margin(data.errors[name]?.[player], largest));
    }
    for (const [partner, effect, error] of partnersOf(player)) {
      line(`with ${data.labels[partner]}`, signed(effect) + margin(error, Math.abs(effect)));
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

  // Words that are out of the text for a while.
  function strike(players) {
    for (const word of wordOf.values()) word.classList.remove("out");
    for (const player of players) wordOf.get(player)?.classList.add("out");
  }

  // Arcs above the text between words that act together, drawn anew when the text takes another
  // width. An arc between two lines leaves the upper word downwards and reaches the lower one from
  // above. Whatever ends in a line needs room above it: levels, short arcs below long ones.
  function bows() {
    if (!stage) return;
    const svg = stage.firstElementChild;
    svg.replaceChildren();
    bowOf = new Map();
    for (const word of stage.querySelectorAll(".foot")) {
      word.classList.remove("foot");
      word.style.marginTop = "";
    }
    const found = levelled((data.bows || []).map(bowBetween).filter(Boolean));
    for (const bow of found) raise(bow);
    const strongest = Math.max(...found.map((bow) => Math.abs(bow.effect)));
    found.sort((a, b) => Math.abs(a.effect) - Math.abs(b.effect)); // the strongest on top
    for (const bow of found) svg.append(drawn(bow, strongest));
    separate([...svg.querySelectorAll("text")].reverse());
  }

  // Of numbers that would lie on each other, only the strongest arc's stays: the list has them all.
  function separate(labels) {
    const kept = [];
    for (const label of labels) {
      const box = label.getBBox();
      const apart = (one) => Math.abs(one.y - box.y) > box.height
        || Math.abs(one.x + one.width / 2 - box.x - box.width / 2) > (one.width + box.width) / 2;
      if (kept.every(apart)) kept.push(box);
      else label.remove();
    }
  }

  const boxOf = (word) => {
    const [box, origin] = [word.getClientRects()[0], stage.getBoundingClientRect()];
    const left = box.left - origin.left + stage.scrollLeft;
    const top = box.top - origin.top + stage.scrollTop;
    return { x: left + box.width / 2, top, bottom: top + box.height, height: box.height };
  };

  function bowBetween([first, second, effect]) {
    const words = [wordOf.get(first), wordOf.get(second)];
    if (words.some((word) => !word?.getClientRects().length) || words[0] === words[1]) return null;
    words.sort((a, b) => boxOf(a).bottom - boxOf(b).bottom);
    const [upper, lower] = words.map(boxOf);
    const lines = Math.round((lower.bottom - upper.bottom) / (1.2 * lower.height));
    return { key: [first, second].sort().join(), words, effect, lines, ends: [upper.x, lower.x], row: lower.bottom };
  }

  const span = (bow) => Math.abs(bow.ends[0] - bow.ends[1]);
  function levelled(found) {
    const done = [];
    for (const bow of [...found].sort((a, b) => span(a) - span(b))) {
      const [middle, half] = [(bow.ends[0] + bow.ends[1]) / 2, Math.max(span(bow), 44) / 2];
      [bow.low, bow.high, bow.level] = [middle - half, middle + half, 1];
      for (const other of done) {
        if (other.lines > 1 || other.row !== bow.row || other.low >= bow.high || bow.low >= other.high) continue;
        bow.level = Math.max(bow.level, other.level + 1);
      }
      done.push(bow);
    }
    return done;
  }

  // Make room above the line where the arc ends: as much as the highest there needs.
  function raise({ words, level, lines }) {
    const word = words[1];
    const room = lines > 1 ? LEVEL / 2 : LEVEL * level + 14;
    if (room <= parseFloat(word.style.marginTop || 0)) return;
    word.classList.add("foot");
    word.style.marginTop = `${room}px`;
  }

  function drawn({ key, words, effect, lines, level }, strongest) {
    const make = (name) => document.createElementNS(drawing.namespaceURI, name);
    const [upper, lower] = words.map(boxOf);
    const foot = lower.top - 1;
    const start = lines ? upper.bottom + 1 : foot;
    const handle = foot - LEVEL * (lines > 1 ? 1 : level * (lines ? 1 : 4 / 3));
    const [bow, path] = [make("g"), make("path")];
    path.setAttribute("d", `M${upper.x} ${start}C${upper.x} ${handle} ${lower.x} ${handle} ${lower.x} ${foot}`);
    path.setAttribute("stroke-width", 1 + (2 * Math.abs(effect)) / strongest);
    bow.dataset.side = effect > 0 ? "f" : "a";
    bow.append(path);
    if (lines > 1) path.classList.add("through");
    if (!lines) bow.append(amountOn(make("text"), upper.x, lower.x, (foot + 3 * handle) / 4, effect));
    bowOf.set(key, bow);
    return bow;
  }

  function amountOn(text, from, to, y, effect) {
    text.setAttribute("x", (from + to) / 2);
    text.setAttribute("y", y - 3);
    text.textContent = signed(effect);
    return text;
  }

  // Where the arcs are drawn: around the text, so that they scroll with it.
  function prepared() {
    const text = document.getElementById("text");
    if (!text || !drawing) return null;
    const around = text.closest(".stage") ?? document.createElement("div");
    if (!around.isConnected) {
      around.className = "stage";
      text.before(around);
      around.append(text);
    }
    const svg = document.createElementNS(drawing.namespaceURI, "svg");
    svg.setAttribute("class", "bows");
    svg.setAttribute("aria-hidden", "true");
    around.prepend(svg);
    let width = 0;
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === width) return;
      width = contentRect.width;
      bows();
    }).observe(around);
    return around;
  }

  // Colouring by another score.
  function colour(name) {
    const weight = data.weights.includes(name);
    const shades = data.shades[name];
    for (const element of document.querySelectorAll("#text [data-hue], .mark:not(.step), .chip")) {
      const strength = playersOf(element)
        .map((player) => shades[player])
        .reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
      element.dataset.hue = weight ? "w" : strength > 0 ? "f" : "a";
      element.dataset.k = Math.floor(Math.abs(strength) * 10 + 0.5);
    }
    const [low, high] = data.ends?.[name] ?? [];
    for (const end of document.querySelectorAll(".key-low")) end.textContent = low;
    for (const end of document.querySelectorAll(".key-high")) end.textContent = high;
    document.getElementById("key-sides").hidden = weight;
    document.getElementById("key-weight").hidden = !weight;
  }

  return { show, dark, colour, strike, bows, playersOf, signed, margin };
}
