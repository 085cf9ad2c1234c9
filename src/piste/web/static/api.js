// The line to the server: JSON questions, streamed answers, and errors in words.

export class Failure extends Error {
  constructor(cause, remedy = "", status = 0) {
    super([cause, remedy].filter(Boolean).join(" "));
    this.status = status;
  }
}

const LOST = "The connection to the server was lost.";
const AGAIN = "See whether piste serve is still running, start it again if not, and press Explain.";

// A token comes once, in the address; then it stays with this tab, out of sight.
const given = new URLSearchParams(location.search).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname + location.hash);
}

export const keep = (token) => sessionStorage.setItem("token", token);

async function ask(path, body, signal) {
  const headers = {};
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = { headers, signal };
  if (body !== undefined) {
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    headers["Content-Type"] = "application/json";
  }
  const response = await fetch(path, options).catch(explain);
  if (!response.ok) throw await failure(response);
  return response;
}

function explain(error) {
  if (error.name === "AbortError") throw error;
  throw new Failure(LOST, AGAIN);
}

async function failure(response) {
  const said = await response.json().catch(() => ({}));
  return new Failure(said.error || `The server answered ${response.status}.`, said.remedy, response.status);
}

export const json = async (path, body, signal) => (await ask(path, body, signal)).json().catch(explain);
export const file = async (path, body) => (await ask(path, body)).blob().catch(explain);

// Calls hear[event](data) for every server-sent event; returns the result's data.
export async function stream(path, body, hear, signal) {
  const response = await ask(path, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(explain);
    if (done) throw new Failure(LOST, AGAIN); // it ends with a result or an error, never without
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const [name, data] of events.map(parsed)) {
      if (name === "error") throw new Failure(data.error, data.remedy);
      if (name === "result") return data;
      hear[name]?.(data);
    }
  }
}

function parsed(event) {
  const field = (name) => event.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  return [field("event"), JSON.parse(field("data") ?? "null")];
}
