// A board on a screen. It counts up to the committed amount and never beyond it; what nobody vouches for is marked.
"use strict";

const STALE_MS = 5000;
const CLIMB_MS = 1500;
const WIN_MS = 12000;
const NEWS_MS = 120000; // an award sent again much later is no news
const SEEN_MAX = 200;

const body = document.body;
const meter = document.querySelector(".meter");
const odometer = document.querySelector(".odometer");
const held = document.querySelector(".held");
const mark = document.querySelector(".mark");
const win = document.querySelector(".win");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const currency = body.dataset.currency;

let from = 0; // where the climb began, in cents
let goal = null; // the committed amount
let startedAt = 0;
let version = 0; // of the newest live meter since the last status
let liveAt = -Infinity;
let confirmedAt = null;
let state = "lost";
let wheels = [];
const seen = [];
const wins = [];
let winUntil = 0;

function text(cents) {
  const whole = Math.trunc(cents / 100).toLocaleString("en-US");
  return `${whole}.${String(cents % 100).padStart(2, "0")}`;
}

// One wheel a digit, as many as the amount needs; they are built anew only when that number changes.
function build(shape) {
  if (odometer.dataset.shape === shape) return;
  odometer.dataset.shape = shape;
  odometer.replaceChildren(
    ...[...shape].map((sign) => {
      const place = document.createElement("span");
      if (sign !== "0") {
        place.textContent = sign;
        return place;
      }
      place.className = "digit";
      const wheel = document.createElement("span");
      wheel.textContent = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n0";
      place.append(wheel);
      return place;
    }),
  );
  wheels = [...odometer.querySelectorAll(".digit span")].reverse();
  meter.style.setProperty("--fit", widest(shape, 1.1));
}

// The font size at which it is as wide as the screen: digits are about 0.62 em, signs half of that.
function widest(line, more) {
  const digits = line.replace(/[^\dA-Z]/g, "").length;
  return `${94 / (digits * 0.7 + (line.length - digits) * 0.36 + more)}vw`;
}

// A wheel turns while the one below it goes from 9 to 0, as in a counter with gears.
function turn(cents) {
  let carry = cents % 1;
  wheels.forEach((wheel, place) => {
    const digit = Math.floor(cents / 10 ** place) % 10;
    wheel.style.setProperty("--at", digit + carry);
    if (digit !== 9) carry = 0;
  });
  meter.dataset.shownCents = Math.floor(cents);
}

function shownAt(now) {
  const passed = Math.min(1, Math.max(0, (now - startedAt) / CLIMB_MS));
  const eased = 1 - (1 - passed) ** 3;
  return Math.min(goal, from + (goal - from) * eased);
}

function draw(now) {
  if (goal === null) return;
  const shown = shownAt(now);
  turn(shown);
  if (shown < goal) requestAnimationFrame(draw);
}

function take(cents, climb) {
  const now = performance.now();
  const shown = goal === null ? cents : shownAt(now);
  // After a win, a gap, or for whoever wants no motion, the amount is there at once.
  from = climb && !calm.matches && shown < cents ? shown : cents;
  goal = cents;
  startedAt = now;
  build(text(cents).replace(/\d/g, "0"));
  meter.setAttribute("aria-label", `${currency} ${text(cents)}`);
  meter.dataset.goalCents = cents;
  draw(now);
}

function takeMeter(message) {
  if (message.version < version) return;
  const now = performance.now();
  const fresh = now - liveAt < STALE_MS;
  if (message.displayed_cents !== goal) take(message.displayed_cents, fresh && message.live);
  if (message.live) {
    version = message.version;
    liveAt = now;
    confirmedAt = new Date();
  }
  const claim = message.pending[0];
  held.hidden = !claim;
  if (claim) held.textContent = `${claim.rank.replaceAll("_", " ")} at table ${claim.table}: being confirmed`;
  look();
}

function takeStatus(message) {
  state = message.state;
  version = 0; // a ledger that was restored goes on below what was shown before
  look();
}

function takeAward(award) {
  if (seen.includes(award.award) || award.kind !== "percentage") return;
  seen.push(award.award);
  if (seen.length > SEEN_MAX) seen.shift();
  if (Math.abs(Date.now() - Date.parse(award.at)) < NEWS_MS) wins.push(award);
  look();
}

function showWins(now) {
  if (now < winUntil) return;
  const award = wins.shift();
  win.hidden = !award;
  if (!award) return;
  for (const [line, said] of [[".hand", award.rank.replaceAll("_", " ")], [".sum", `${currency} ${text(award.amount_cents)}`]]) {
    const element = win.querySelector(line);
    element.textContent = said;
    element.style.setProperty("--fit", widest(said.toUpperCase(), 1.2));
  }
  win.querySelector(".where").textContent = `Table ${award.table}`;
  winUntil = now + WIN_MS;
}

function look() {
  const now = performance.now();
  const suspended = state === "suspended";
  const stale = now - liveAt > STALE_MS || !(state === "running" || suspended);
  body.classList.toggle("stale", stale);
  body.classList.toggle("suspended", suspended && !stale);
  const since = confirmedAt ? `, last confirmed at ${confirmedAt.toLocaleTimeString("en-GB", { timeZone: body.dataset.timezone })}` : "";
  const said = stale ? `Not current${since}` : suspended ? "Play is suspended" : "";
  if (mark.textContent !== said) mark.textContent = said;
  showWins(now);
}

const source = new EventSource(body.dataset.stream);
const hear = (act) => (event) => act(JSON.parse(event.data));
source.addEventListener("meter", hear(takeMeter));
source.addEventListener("status", hear(takeStatus));
source.addEventListener("award", hear(takeAward));
source.addEventListener("error", () => {
  if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
});
setInterval(look, 500);

document.addEventListener("dblclick", () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
});
