// Requests to the server, and its streams.

export class Refused extends Error {}

const GONE = "The server has gone. Start it again (dibs serve), then reload this page.";
const STREAMS = 4;

async function send(path, body, signal) {
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(GONE);
  }
  if (answer.ok) return answer;
  let words = `${answer.status} ${answer.statusText}`;
  try {
    words = (await answer.json()).error ?? words;
  } catch {
    // no JSON: the status has to do
  }
  throw new Refused(words);
}

export async function post(path, body, signal) {
  return (await send(path, body, signal)).json();
}

export async function about() {
  let answer;
  try {
    answer = await fetch("/api/about");
  } catch {
    throw new Refused(GONE);
  }
  if (!answer.ok) throw new Refused(`${answer.status} ${answer.statusText}`);
  return answer.json();
}

// Calls `take(event, data)` for each event of a text/event-stream.
export async function stream(path, body, signal, take) {
  const answer = await send(path, body, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      throw error.name === "AbortError" || signal?.aborted ? error : new Refused(GONE);
    });
    if (done) return;
    const parts = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      let event = "message";
      const data = [];
      for (const line of part.split("\n")) {
        if (line.startsWith("event:")) event = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5));
      }
      if (data.length) take(event, JSON.parse(data.join("\n")));
    }
  }
}

// Does `work()` when it is this tab's turn. A browser has six connections to a server, for all tabs together: streams
// use up to four, so that another tab can always be opened. `wait()` is called if it is not at once.
export async function turn(signal, wait, work) {
  const { locks } = navigator; // not there where the page is not at this machine's own address
  if (!locks) return work();
  const name = (i) => `dibs-stream-${i}`;
  const held = (await locks.query()).held.map((lock) => lock.name);
  const free = Array.from({ length: STREAMS }, (_, i) => name(i)).find((one) => !held.includes(one));
  if (!free) wait();
  return locks.request(free ?? name(Math.floor(Math.random() * STREAMS)), { signal }, work);
}

// The last call wins: an earlier one that is still under way is given up.
export class Latest {
  constructor() {
    this.control = null;
  }

  signal() {
    this.stop();
    this.control = new AbortController();
    return this.control.signal;
  }

  stop() {
    this.control?.abort();
    this.control = null;
  }
}
