// The page: a question, a stream of answers, and what is asked for afterwards.

import { Failure, file, json, keep, stream } from "./api.js";
import { chart, curve, el, linked, percent, row, waterfall, words } from "./draw.js";
import { Form, options } from "./form.js";
import { Removal } from "./removal.js";
import { address, arrived, copied, remember } from "./share.js";
import { Side } from "./side.js";

const $ = (id) => document.getElementById(id);

const link = linking(); // of the reports: hover, focus, arrow keys, colours
const form = new Form();
const removal = new Removal(link, problem, say);
const side = new Side(link, more, reveal);
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

const shown = (error) => (error instanceof Failure ? error : new Failure("Something went wrong on this page.", String(error)));

// The explanation

const began = {}; // by bar: when its work began, in milliseconds

function waiting(which, on) {
  began[which] = performance.now();
  $(`wait${which}`).hidden = !on;
  $(`bar${which}`).removeAttribute("value");
  $(`stage${which}`).textContent = "";
}

// How long the rest takes at the pace so far, once there is a pace.
function left(which, done, planned) {
  const passed = (performance.now() - began[which]) / 1000;
  if (passed < 2 || !done || done >= planned) return "";
  return `, about ${Math.ceil((passed * (planned - done)) / done).toLocaleString("en")} s left`;
}

function progress(which, { done, planned, before }) {
  if (before) began[which] = performance.now();
  if (planned) $(`bar${which}`).value = Math.min(1, done / planned);
  const counted = planned ? `${done.toLocaleString("en")} of ${planned.toLocaleString("en")} sequences asked${left(which, done, planned)}` : "Asking the model …";
  $(`stage${which}`).textContent = before ? `${before} before you …` : counted;
}

async function explain(wanted = form.question(), example = false) {
  running?.abort();
  later?.abort();
  running = new AbortController();
  const { signal } = running;
  if (!example) remember(wanted);
  $("arrived").hidden = true;
  problem(null);
  busy(true);
  try {
    const hear = { progress: (data) => progress("", data), round: (view) => draw(view, true) };
    const { view } = await stream("/api/explain/stream", wanted, hear, signal);
    asked = wanted;
    draw(view, false);
    removal.begin(view, wanted);
    side.begin(view, wanted);
    say([...$("warnings").children].map((warning) => warning.textContent).concat(view.sentence).join(" "));
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
  if (!on) return;
  $("result").classList.add("sketch"); // what is still shown answers another question
  say("Explaining …");
}

function stop() {
  running?.abort();
  busy(false);
  if ($("result").classList.contains("sketch")) $("result").hidden = true;
  say("Stopped.");
}

// sketch: the scores of a round; more will come.
function draw(view, sketch) {
  removal.asked = null;
  $("result").hidden = false;
  $("result").classList.toggle("sketch", sketch);
  for (const id of ["compared", "curve", "linked"]) $(id).hidden = true;
  decision(view);
  $("text").replaceChildren(...words(view));
  $("text").setAttribute("aria-label", `The explained text; arrow keys move between ${view.unit}s, Enter removes one or puts it back, F2 replaces it`);
  pictures(view);
  for (const part of document.querySelectorAll(".more, .trust, .meaning, .side")) part.hidden = sketch;
  together(view);
  link.show(view);
  colours(view);
  classes(view);
  trust(view, sketch);
}

function colours(view) {
  options($("score"), view.names.map((name) => [name, name]), view.primary);
  $("key-sides").hidden = !view.sided;
  $("key-weight").hidden = view.sided;
  [$("below").textContent, $("above").textContent] = view.sides;
  link.colour(view.primary); // and the numbers at the ends of the colours
}

// Where every label was explained: a button each, which shows the answer for this label.
function classes(view) {
  const labels = view.classes ?? [];
  $("classes").hidden = !labels.length;
  const buttons = labels.map(([label, name], index) => {
    const button = el("button", { type: "button", "aria-pressed": !index }, el("bdi", {}, label));
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", other === button);
      answered({ ...view, ...view.of_class[name] }, !index);
      $("score").value = name;
      $("for").textContent = label;
      link.colour(name);
    });
    return button;
  });
  $("classes").replaceChildren("Answer for ", ...buttons);
}

// own: of the explained label, whose pairs and turns are known.
function answered(view, own) {
  decision(view);
  steps(view.waterfall ?? null, view.scale);
  together(own ? view : {});
  link.show(own ? view : { ...view, pairs: [], bows: [] });
}

function decision(view) {
  document.title = `${view.decision} · piste`;
  $("sentence").textContent = view.sentence;
  $("label").textContent = view.label;
  $("for").textContent = view.sides[1] === "for" ? view.label : "the number";
  $("others").textContent = view.others;
  $("share").toggleAttribute("hidden", view.probability === null);
  if (view.probability !== null) $("share").querySelector(".part").setAttribute("width", (view.probability * 100).toFixed(2));
  $("sure").textContent = view.share === null ? "" : `: probability ${view.share}`;
  $("score-of").textContent = view.score;
}

// First the way from the base to the score, or bars where scores do not lead there; then the plane.
function pictures(view) {
  const falls = view.waterfall ?? null;
  const drawn = view.charts.map((given) => chart(view, given));
  const plane = view.scatter && falls;
  $("picture").textContent = falls ? "From the empty text to the score" : view.scatter ? "Value and importance" : `Strongest ${view.unit}s`;
  steps(falls, view.scale);
  $("charts").replaceChildren(...(falls ? [] : drawn));
  $("reads").textContent = falls ? "From the empty text down to the whole text: each bar is what a word adds (blue) or takes away (orange)." : reads(view);
  $("plane").hidden = !plane;
  $("plane-charts").replaceChildren(...(plane ? drawn : []));
  $("plane-reads").textContent = plane ? reads(view) : "";
}

function steps(falls, scale) {
  $("steps").replaceChildren(...(falls ? [waterfall(falls, scale, link, true)] : []));
}

function reads({ scatter, sided, label, unit, primary, method }) {
  if (!scatter && !sided) return "Longer: weighs more. This score takes no side.";
  const alone = scatter && method === "context" ? "alone it " : "";
  const sides = `Right: ${alone}speaks for ${label}; left: against.`;
  return scatter ? `${sides} Up: weighs more against the other ${unit}s. Bars: standard errors. Colour: ${primary}.` : sides;
}

// What words do together and what would turn the decision; rounds and other methods know neither.
function together({ links = [], turning = [], in_windows = false }) {
  $("acting").hidden = !links.length;
  $("links").replaceChildren(...links.map(linked));
  $("changing").hidden = !turning.length;
  $("turns").replaceChildren(...turning.map((turn) => turned(turn, in_windows)));
}

function turned({ text, removed }, fixed) {
  const button = el("button", { type: "button", class: "plain", "aria-label": `See it: ${text}` }, "See it");
  button.addEventListener("click", () => {
    removal.only(removed);
    $("trying").scrollIntoView({ block: "nearest", behavior: pace() });
  });
  return el("li", {}, text, " ", fixed ? "" : button);
}

function trust(view, sketch) {
  const warnings = sketch ? [] : view.statements.filter(({ warning }) => warning);
  $("warnings").hidden = !warnings.length;
  $("warnings").replaceChildren(
    ...warnings.map(({ text }) => el("p", { class: "warning" }, el("strong", {}, "Warning: "), text)));
  $("rely").textContent = sketch ? "" : view.rely;
  if (sketch) return;
  const items = view.statements.filter(({ warning }) => !warning).map(({ text }) => el("li", {}, text));
  const base = view.base ? [el("li", {}, view.base)] : [];
  $("statements").replaceChildren(...items, ...base, el("li", {}, `Cost: ${view.cost}.`));
  const meanings = Object.entries(view.meanings).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, `${text}.`)]);
  $("meanings").replaceChildren(...meanings);
}

// What is asked for afterwards: one thing at a time, with a bar of its own.

async function more(which, work) {
  later?.abort();
  const own = later = new AbortController();
  problem(null);
  waiting(which, true);
  try {
    await work(own.signal, { progress: (data) => progress(which, data) });
  } catch (error) {
    if (!own.signal.aborted) problem(shown(error));
  } finally {
    waiting(which, false);
  }
}

async function compareMethods(signal, hear) {
  const { view } = await stream("/api/compare/stream", { ...asked, measure: $("measure").checked }, hear, signal);
  $("verdict").textContent = view.verdict;
  const failed = Object.entries(view.failed).map(([name, reason]) => el("p", { class: "hint" }, `${name} could not run: ${reason}`));
  $("rows").replaceChildren(...view.rows.map((explanation, index) => row(explanation, index ? view.agreement[0][index] : null)), ...failed);
  $("row-key").textContent =
    `Blue speaks for ${view.label}, orange against; violet takes no side. Each method has its own scale. ` +
    "“Ranks like the first”: 1 is the same order of words, 0 is unrelated.";
  reveal("compared", `${view.rows.length} methods compared. ${view.verdict}`);
  link.show(removal.view);
}

async function deletion(signal) {
  const curves = await json("/api/deletion", asked, signal);
  $("curve-chart").replaceChildren(curve(curves, "wide", 560), curve(curves, "narrow", 330));
  const told = (score) => (curves.scale === "probability" ? percent(score) : link.signed(score));
  const fifth = curves.removed.findIndex((share) => share >= 0.2);
  const at = fifth < 0 ? curves.removed.length - 1 : fifth;
  $("curve-said").textContent =
    `Line: the words that ${curves.method} scores highest are removed first; without ${percent(curves.removed[at])} of them, ` +
    `${curves.label} is at ${told(curves.by_score[at])}. Dashed: the mean of five random orders; there it is at ${told(curves.at_random[at])}. ` +
    "The faster the line falls, the better the scores tell what the decision depends on.";
  reveal("curve", $("curve-said").textContent);
}

const pace = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

function reveal(id, spoken) {
  $(id).hidden = false;
  $(id).scrollIntoView({ block: "nearest", behavior: pace() });
  say(spoken);
}

const download = (kind) => async () => {
  const blob = await file(`/api/download/${kind}`, asked);
  const anchor = el("a", { href: URL.createObjectURL(blob), download: `explanation.${kind}` });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
};

async function share() {
  const given = address(asked);
  $("linked").hidden = false;
  $("address").value = given;
  $("address").select();
  const done = await copied(given);
  $("copy").textContent = done ? "Copied" : "Copy it below";
  say(done ? "The link is copied." : "The link is selected: copy it.");
  setTimeout(() => { $("copy").textContent = "Copy link"; }, 2500);
}

// Wiring

async function start() {
  let about;
  try {
    about = await json("/api/models");
  } catch (error) {
    return problem(shown(error));
  }
  problem(null);
  $("key").hidden = true;
  form.offer(about);
  if (!(await fromLink()) && about.example) await explainExample();
}

async function explainExample() {
  form.restore({ text: form.about.example });
  await explain(form.question(), true);
}

// A link fills the form. It is asked once the person has seen it, or has asked it in this tab.
async function fromLink() {
  const link = arrived();
  if (!link) return false;
  running?.abort();
  busy(false);
  form.restore(link.question);
  if (link.known) await explain();
  else {
    $("result").hidden = true;
    $("arrived").hidden = false;
    $("confirm").focus();
  }
  return true;
}

function explainEdited() {
  form.restore({ ...asked, ...removal.edited() });
  scrollTo({ top: 0, behavior: pace() });
  explain();
}

$("ask").addEventListener("submit", (event) => { event.preventDefault(); explain(); });
$("ask").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("ask").requestSubmit();
});
$("key").addEventListener("submit", (event) => { event.preventDefault(); keep($("token").value); start(); });
$("stop").addEventListener("click", stop);
$("confirm").addEventListener("click", () => explain());
$("example").addEventListener("click", explainExample);
$("score").addEventListener("change", () => link.colour($("score").value));
$("compare").addEventListener("click", () => more("-more", compareMethods));
$("deletion").addEventListener("click", () => more("-more", deletion));
$("explain-edited").addEventListener("click", explainEdited);
$("compare-edited").addEventListener("click", () => side.withText(removal.edited()));
$("copy").addEventListener("click", share);
for (const button of document.querySelectorAll("[data-kind]")) button.addEventListener("click", () => more("-more", download(button.dataset.kind)));
addEventListener("hashchange", fromLink);
start();
