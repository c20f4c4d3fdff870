// What moves on the floor: meters as they are announced, and pieces of the page that are fetched again.
"use strict";

const STALE_MS = 6000;
const feed = document.querySelector("[data-stream]");
const parts = [...document.querySelectorAll("[data-part]")].map((element) => ({
  element,
  every: Number(element.dataset.every),
  at: performance.now(),
  dirty: false,
  busy: false,
}));
let heardAt = performance.now();
let connected = true;

function amount(cents) {
  const whole = Math.trunc(Math.abs(cents) / 100).toLocaleString("en-US");
  const part = String(Math.abs(cents) % 100).padStart(2, "0");
  return [`${cents < 0 ? "−" : ""}${whole}`, part];
}

function showMeter(meter) {
  const figure = document.querySelector(`[data-meter="${CSS.escape(meter.link)}"]`);
  if (!figure) return;
  const [whole, part] = amount(meter.displayed_cents);
  figure.querySelector(".whole").textContent = whole;
  figure.querySelector(".part").textContent = `.${part}`;
}

function showWin(award) {
  const line = document.getElementById("win");
  if (!line || award.kind !== "percentage") return;
  line.textContent = `${award.rank.replaceAll("_", " ")} at ${award.table}: ${amount(award.amount_cents).join(".")}`;
  line.hidden = false;
}

function showFeed() {
  const live = connected && performance.now() - heardAt < STALE_MS;
  const text = live ? "Live" : "Not live: the feed is cut";
  if (feed.textContent !== text) feed.textContent = text;
  feed.classList.toggle("cut", !live);
}

// A piece that somebody is working in stays as it is until he is done.
function inUse(element) {
  return element.contains(document.activeElement) || element.querySelector("details[open]") !== null;
}

async function refresh(part) {
  part.busy = true;
  try {
    const response = await fetch(part.element.dataset.part);
    if (response.status === 401) return location.reload();
    const piece = await response.text();
    if (response.ok && !inUse(part.element)) part.element.innerHTML = piece;
    part.dirty = false;
  } catch {
    // The server is away; what is shown is marked as not live by then.
  } finally {
    part.at = performance.now();
    part.busy = false;
  }
}

function watch() {
  const source = new EventSource(feed.dataset.stream);
  const heard = (act) => (event) => {
    heardAt = performance.now();
    connected = true;
    act(JSON.parse(event.data));
    for (const part of parts) part.dirty = true;
  };
  source.addEventListener("meter", heard(showMeter));
  source.addEventListener("award", heard(showWin));
  source.addEventListener("status", heard(() => {}));
  source.addEventListener("tick", (event) => {
    heardAt = performance.now();
    connected = JSON.parse(event.data).connected;
  });
  // The session has ended, or the server is away: the browser tries again by itself unless it was told not to.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) location.reload();
  });
  setInterval(() => {
    showFeed();
    const now = performance.now();
    for (const part of parts) {
      const due = now - part.at > (part.dirty ? part.every : Math.max(part.every, 15000));
      if (due && !part.busy && !document.hidden) refresh(part);
    }
  }, 500);
}

if (feed) watch();

// An order is given once, however often the button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  setTimeout(() => event.target.querySelectorAll("button").forEach((button) => (button.disabled = true)));
});
