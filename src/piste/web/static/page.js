// The page: a form, a stream of answers, and what is asked for afterwards.

import { Failure, file, json, keep, stream } from "./api.js";
import { chart, curve, el, linked, percent, row, words } from "./draw.js";
import { Removal } from "./removal.js";

const $ = (id) => document.getElementById(id);
const EXAMPLE =
  "This film is not the masterpiece they promised. The plot is thin and the jokes are tired, but the acting " +
  "is superb and the last ten minutes are simply beautiful. I left the cinema smiling.";

const link = linking(); // of the reports: hover, focus, arrow keys, colours
const removal = new Removal(link, problem, say);
let about = { models: [] };
let asked = null; // what the shown explanation answers
let running = null; // of the explanation; `later` of what is asked afterwards
let later = null;

function problem(error) {
  $("problem").hidden = !error;
  $("problem").textContent = error ? error.message : "";
  if (error?.status === 401) {
    $("key").hidden = false;
    $("token").focus();
  }
}

function say(text) {
  $("said").textContent = text;
}

const shown = (error) => (error instanceof Failure ? error : new Failure("The page stumbled.", String(error)));

// The form

function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => el("option", { value }, text)));
  if (pairs.some(([value]) => value === chosen)) select.value = chosen;
}

const model = () => about.models.find(({ name }) => name === $("model").value) ?? about.models[0];

function fill(wanted = {}) {
  options($("model"), about.models.map(({ name }) => [name, name]), wanted.model ?? $("model").value);
  const { methods, labels } = model();
  options($("method"), Object.keys(methods).map((name) => [name, name]), wanted.method ?? $("method").value);
  const ranks = [["predicted", "predicted"], ["runner-up", "runner-up"]];
  options($("target"), [...ranks, ...labels.map((label) => [label, label])], wanted.target ?? $("target").value);
  const units = ["word", ...about.units.filter((unit) => unit !== "word")];
  options($("unit"), units.map((unit) => [unit, unit]), wanted.unit ?? $("unit").value);
  options($("effort"), about.efforts.map((effort) => [effort, effort]), wanted.effort ?? ($("effort").value || "normal"));
  described();
}

function described() {
  $("about").textContent = model().methods[$("method").value] ?? "";
  $("how-much").hidden = $("method").value !== "context"; // the one method that has it
}

function twoTexts(open) {
  $("second").hidden = !open;
  $("two").setAttribute("aria-expanded", open);
  $("two").textContent = open ? "Only one text" : "Add a second text";
}

function question() {
  const pair = $("second").hidden || !$("pair").value.trim() ? null : $("pair").value;
  const picked = (id) => $(id).value;
  const effort = $("how-much").hidden ? null : picked("effort");
  return { text: picked("given"), pair, model: picked("model"), method: picked("method"), effort, target: picked("target"), unit: picked("unit") };
}

function room() {
  const size = $("given").value.length + ($("second").hidden ? 0 : $("pair").value.length);
  $("room").hidden = size < about.max_chars * 0.8;
  $("room").textContent = `${size.toLocaleString("en")} of ${about.max_chars.toLocaleString("en")} characters.`;
}

// The link: all of the state is in the fragment, which no browser sends to a server.

function remember(wanted) {
  const state = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== null));
  history.replaceState(null, "", `#${state}`);
}

function restore() {
  const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (!state.text) return false;
  $("given").value = state.text;
  $("pair").value = state.pair ?? "";
  twoTexts(Boolean(state.pair));
  fill(state);
  room();
  return true;
}

// The explanation

function waiting(which, on) {
  $(`wait${which}`).hidden = !on;
  $(`bar${which}`).removeAttribute("value");
  $(`stage${which}`).textContent = "";
}

function progress(which, { done, planned, before }) {
  if (planned) $(`bar${which}`).value = Math.min(1, done / planned);
  const asked = planned ? `${done.toLocaleString("en")} of ${planned.toLocaleString("en")} sequences asked` : "Asking the model …";
  $(`stage${which}`).textContent = before ? `${before} before you …` : asked;
}

async function explain() {
  running?.abort();
  later?.abort();
  running = new AbortController();
  const { signal } = running;
  const wanted = question();
  remember(wanted);
  problem(null);
  busy(true);
  try {
    const hear = { progress: (data) => progress("", data), round: (view) => draw(view, true) };
    const { view } = await stream("/api/explain/stream", wanted, hear, signal);
    asked = wanted;
    draw(view, false);
    removal.begin(view, wanted);
    say(`${view.decision}. Strongest: ${strongest(view)}.`);
  } catch (error) {
    if (signal.aborted) return;
    $("result").hidden = true; // half an explanation must not pass for a whole one
    problem(shown(error));
  } finally {
    if (running?.signal === signal) busy(false);
  }
}

function busy(on) {
  waiting("", on);
  $("stop").hidden = !on;
  $("ask").setAttribute("aria-busy", on);
  if (on) say("Explaining …");
}

function stop() {
  running?.abort();
  busy(false);
  if ($("result").classList.contains("sketch")) $("result").hidden = true;
  say("Stopped.");
}

function strongest(view) {
  const scores = view.scores[view.primary].map((score, player) => [Math.abs(score ?? 0), view.labels[player], score]);
  const seen = new Map();
  for (const [size, label, score] of scores.sort((a, b) => b[0] - a[0])) if (!seen.has(label)) seen.set(label, score);
  return [...seen].slice(0, 3).map(([label, score]) => `${label} ${link.signed(score)}`).join(", ");
}

// sketch: the scores of a round; more will come.
function draw(view, sketch) {
  removal.asked = null;
  $("result").hidden = false;
  $("result").classList.toggle("sketch", sketch);
  for (const id of ["compared", "curve"]) $(id).hidden = true;
  decision(view);
  $("text").replaceChildren(...words(view));
  $("text").setAttribute("aria-label", `The explained text; arrow keys move between ${view.unit}s, Enter takes one out or puts it back`);
  $("picture").textContent = view.scatter ? "Value and importance" : `Strongest ${view.unit}s`;
  $("charts").replaceChildren(...view.charts.map((given) => chart(view, given)));
  $("reads").textContent = reads(view);
  options($("score"), view.names.map((name) => [name, name]), view.primary);
  $("key-sides").hidden = !view.sided;
  $("key-weight").hidden = view.sided;
  for (const part of document.querySelectorAll(".more, .trust, .meaning")) part.hidden = sketch;
  together(view);
  link.show(view);
  $("warnings").replaceChildren();
  if (sketch) return;
  trust(view);
}

function decision(view) {
  document.title = `${view.decision} · piste`;
  $("label").textContent = view.label;
  $("for").textContent = view.label;
  $("others").textContent = view.others;
  $("share").toggleAttribute("hidden", view.probability === null);
  if (view.probability !== null) $("share").querySelector(".part").setAttribute("width", (view.probability * 100).toFixed(2));
  $("sure").textContent = view.share === null ? "" : `probability ${view.share}`;
  $("score-of").textContent = view.score;
}

function reads({ scatter, sided, label, unit, primary, method }) {
  if (!scatter && !sided) return "Longer: weighs more. This score takes no side.";
  const alone = scatter && method === "context" ? "alone it " : "";
  const sides = `Right: ${alone}speaks for ${label}; left: against.`;
  return scatter ? `${sides} Up: weighs more against the other ${unit}s. Bars: standard errors. Colour: ${primary}.` : sides;
}

// What words do together and what would turn the decision; rounds and other methods know neither.
function together({ links = [], turning = [], base = null }) {
  $("context").hidden = !links.length && !turning.length && !base;
  $("links").replaceChildren(...links.map(linked));
  $("together").hidden = !links.length;
  $("turns").replaceChildren(...turning.map((sentence) => el("li", {}, sentence)));
  $("turning").hidden = !turning.length;
  $("base").textContent = base ?? "";
}

function trust(view) {
  const [warnings, rest] = [true, false].map((kind) => view.statements.filter(({ warning }) => warning === kind));
  $("warnings").replaceChildren(
    ...warnings.map(({ text }) => el("p", { class: "warning" }, el("strong", {}, "Warning: "), text)));
  const items = rest.map(({ text }) => el("li", {}, text));
  $("statements").replaceChildren(...items, el("li", {}, `Cost: ${view.cost}.`));
  const meanings = Object.entries(view.meanings).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, `${text}.`)]);
  $("meanings").replaceChildren(...meanings);
}

// What is asked for afterwards

async function more(work) {
  later?.abort();
  const own = later = new AbortController();
  problem(null);
  waiting("-more", true);
  try {
    await work(own.signal);
  } catch (error) {
    if (!own.signal.aborted) problem(shown(error));
  } finally {
    if (later === own) waiting("-more", false);
  }
}

const compareAll = (signal) => stream("/api/compare/stream", { ...asked, measure: $("measure").checked }, { progress: (data) => progress("-more", data) }, signal)
  .then(({ view }) => {
    $("verdict").textContent = view.verdict;
    const failed = Object.entries(view.failed).map(([name, reason]) => el("p", { class: "hint" }, `${name} could not run: ${reason}`));
    $("rows").replaceChildren(...view.rows.map((explanation, index) => row(explanation, index ? view.agreement[0][index] : null)), ...failed);
    $("row-key").textContent =
      `Blue speaks for ${view.label}, orange against; violet takes no side. Each method has a scale of its own. ` +
      "Ranks like the first: 1 is the same order of words, 0 unrelated.";
    reveal("compared", `${view.rows.length} methods compared. ${view.verdict}`);
    link.show(current());
  });

const deletion = (signal) => json("/api/deletion", asked, signal).then((curves) => {
  $("curve-chart").replaceChildren(curve(curves, "wide", 560), curve(curves, "narrow", 330));
  const told = (score) => (curves.scale === "probability" ? percent(score) : link.signed(score));
  const fifth = curves.removed.findIndex((share) => share >= 0.2);
  const at = fifth < 0 ? curves.removed.length - 1 : fifth;
  $("curve-said").textContent =
    `Line: the words that ${curves.method} scores highest go first; with ${percent(curves.removed[at])} of them gone, ` +
    `${curves.label} is at ${told(curves.by_score[at])}. Dashed: any words go, the mean of five random orders; then it is at ${told(curves.at_random[at])}. ` +
    "The faster the line falls, the better the scores say what the decision hangs on.";
  reveal("curve", $("curve-said").textContent);
});

const current = () => removal.view;

function reveal(id, spoken) {
  $(id).hidden = false;
  $(id).scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  say(spoken);
}

const download = (kind) => async () => {
  const blob = await file(`/api/download/${kind}`, asked);
  const anchor = el("a", { href: URL.createObjectURL(blob), download: `explanation.${kind}` });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
};

async function copy() {
  const done = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  $("copy").textContent = done ? "Copied" : "The address holds it";
  say(done ? "The link is copied." : "The address of this page holds all of it.");
  setTimeout(() => { $("copy").textContent = "Copy link"; }, 2500);
}

// Wiring

async function start() {
  try {
    about = await json("/api/models");
  } catch (error) {
    return problem(shown(error));
  }
  problem(null);
  $("key").hidden = true;
  fill();
  if (restore()) await explain();
}

$("ask").addEventListener("submit", (event) => { event.preventDefault(); explain(); });
$("ask").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("ask").requestSubmit();
});
$("key").addEventListener("submit", (event) => { event.preventDefault(); keep($("token").value); start(); });
$("stop").addEventListener("click", stop);
$("example").addEventListener("click", () => { $("given").value = EXAMPLE; $("given").focus(); room(); });
$("two").addEventListener("click", () => { twoTexts($("second").hidden); room(); });
$("model").addEventListener("change", () => fill());
$("method").addEventListener("change", described);
$("given").addEventListener("input", room);
$("pair").addEventListener("input", room);
$("score").addEventListener("change", () => link.colour($("score").value));
$("compare").addEventListener("click", () => more(compareAll));
$("deletion").addEventListener("click", () => more(deletion));
$("copy").addEventListener("click", copy);
for (const button of document.querySelectorAll("[data-kind]")) button.addEventListener("click", () => more(download(button.dataset.kind)));
addEventListener("hashchange", () => restore() && explain());
start();
