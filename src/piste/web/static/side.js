// Two explanations side by side: of two texts, or of two labels of one text.

import { stream } from "./api.js";
import { bar, el, percent, reach, waterfall } from "./draw.js";
import { options } from "./form.js";

const $ = (id) => document.getElementById(id);
const MOST = 10; // rows of the table

export class Side {
  // more: runs work with a bar; reveal: shows a part of the page and speaks.
  constructor(link, more, reveal) {
    Object.assign(this, { link, more, reveal, asked: null, view: null });
    for (const radio of document.querySelectorAll("[name=other]")) radio.addEventListener("change", () => this.chosen());
    $("compare-form").addEventListener("submit", (event) => { event.preventDefault(); this.compare(); });
  }

  // A new explanation: with two labels, what speaks for one speaks against the other.
  begin(view, asked) {
    Object.assign(this, { view, asked });
    const labels = view.choices.filter((label) => label !== view.target);
    options($("other-label"), labels.map((label) => [label, label]), labels[0]);
    $("versus").hidden = labels.length < 2;
    if (labels.length < 2) document.querySelector("[name=other][value=text]").checked = true;
    $("other-text").value = asked.text; // to be changed, or replaced
    $("other-pair").value = asked.pair ?? "";
    $("other-pair").hidden = !asked.pair;
    $("sides").hidden = true;
    this.chosen();
  }

  get kind() {
    return document.querySelector("[name=other]:checked").value;
  }

  chosen() {
    $("other-text-field").hidden = this.kind !== "text";
    $("other-label-field").hidden = this.kind !== "label";
    $("other-text").required = this.kind === "text";
  }

  withText({ text, pair }) {
    document.querySelector("[name=other][value=text]").checked = true;
    this.chosen();
    $("other-text").value = text;
    $("other-pair").value = pair ?? "";
    this.compare();
  }

  compare() {
    const texts = { text: $("other-text").value, ...(this.asked.pair ? { pair: $("other-pair").value } : {}) };
    return this.more("-side", this.kind === "text" ? this.texts(texts) : this.labels($("other-label").value));
  }

  // The other text is explained for the label of the first, whatever the model says of it.
  texts(texts) {
    return async (signal, hear) => {
      const body = { ...this.asked, ...texts, target: this.view.target };
      const { view } = await stream("/api/explain/stream", body, hear, signal);
      const rows = merged(this.view, view).map(([word, a, b]) => [word, a, b, (b ?? 0) - (a ?? 0)]);
      this.draw(["The first text", "The other text"], [this.view, view], rows, "difference");
      $("changes-key").textContent = "What each word contributes in either text; – where it does not stand. Both are coloured on one scale.";
    };
  }

  labels(other) {
    const own = this.view.target;
    return async (signal, hear) => {
      const ask = async (target, against) => {
        const { against: _, ...rest } = this.asked;
        const body = { ...rest, target, ...(against ? { against } : {}) };
        return (await stream("/api/explain/stream", body, hear, signal)).view;
      };
      const views = [await ask(own), await ask(other)];
      const contrast = await ask(own, other);
      const totals = sums(contrast);
      const rows = merged(...views).map(([word, a, b]) => [word, a, b, totals.get(word.toLowerCase())?.[1] ?? 0]);
      this.draw([`Why ${own}?`, `Why ${other}?`], views, rows, `${own} rather than ${other}`);
      $("changes-key").textContent =
        "What each word contributes to either label against all others, and to the choice between the two. Both are coloured on one scale.";
    };
  }

  draw(titles, views, rows, last) {
    const [first, second] = views;
    const sided = views.every((view) => view.sided);
    const top = Math.max(...views.flatMap((view) => view.scores[view.primary].map((score) => Math.abs(score ?? 0))));
    const range = reach(views.map(({ waterfall: fall }) => fall).filter(Boolean));
    $("columns").replaceChildren(...views.map((view, index) => this.column(titles[index], view, top, range)));
    $("moved").textContent = this.kind === "text" ? moved(first, second, this.link) : "";
    $("changes").replaceChildren(...(sided ? this.table(titles, rows, last) : []));
    this.reveal("sides", `${first.sentence} ${second.sentence}`);
  }

  column(title, view, top, range) {
    const share = view.probability === null ? el("p") : el("p", { class: "decision" }, bar(view.probability), ` ${view.share}`);
    return el(
      "article", {},
      el("h3", {}, title),
      el("p", { dir: "auto" }, view.sentence),
      share,
      el("div", { class: "text", dir: "auto", lang: "", tabindex: 0, role: "region", "aria-label": `${title}: the text` }, ...this.words(view, top)),
      view.waterfall ? waterfall(view.waterfall, view.scale, this.link, false, range) : "",
    );
  }

  words(view, top) {
    const scores = view.scores[view.primary];
    return view.parts.map(([text, players]) => {
      if (!players.length) return text;
      const score = players.map((player) => scores[player] ?? 0).reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
      const hue = view.sided ? (score > 0 ? "f" : "a") : "w";
      const level = top ? Math.floor((Math.abs(score) / top) * 10 + 0.5) : 0;
      return el("span", { class: "w", "data-hue": hue, "data-k": level, title: `${view.primary} ${this.link.signed(score)}` }, text);
    });
  }

  table(titles, rows, last) {
    const strongest = rows.sort((a, b) => Math.abs(b[3]) - Math.abs(a[3])).slice(0, MOST);
    const head = ["word", ...titles, last].map((title) => el("th", { scope: "col" }, title));
    const number = (score) => el("td", {}, score === null ? "–" : this.link.signed(score));
    const body = strongest.map(([word, ...scores]) => el("tr", {}, el("th", { scope: "row" }, el("bdi", {}, word)), ...scores.map(number)));
    return [el("caption", {}, "Where they differ most"), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body)];
  }
}

// What each word contributes in all its places: [word, total] by its lower case.
function sums(view) {
  const totals = new Map();
  view.scores[view.primary].forEach((score, player) => {
    const word = view.labels[player];
    const [shown, total] = totals.get(word.toLowerCase()) ?? [word, 0];
    totals.set(word.toLowerCase(), [shown, total + (score ?? 0)]);
  });
  return totals;
}

// [word, here, there] for the words of both; null where a word does not stand.
function merged(first, second) {
  const [here, there] = [sums(first), sums(second)];
  return [...new Map([...there, ...here])].map(([key, [word]]) => [word, here.get(key)?.[1] ?? null, there.get(key)?.[1] ?? null]);
}

function moved(first, second, link) {
  const [a, b] = [first, second].map(({ probability, target_score: score }) => (probability === null ? link.signed(score) : percent(probability)));
  return `${first.label}: ${a} for the first text, ${b} for the other (${link.signed(second.target_score - first.target_score)} ${first.scale}).`;
}
