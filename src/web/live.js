// Keeps pages current: when the server reports a commit, each visible page is read again, and its differences are put
// into the document. What you typed, the focus and the position on the page stay.
//
// A browser opens few connections to a server, so that one tab, which holds the lock, listens for all of them.
"use strict";

const away = "The console does not answer, so this page may be outdated.";
const body = document.body;
const status = document.getElementById("live");
const tabs = navigator.locks ? new BroadcastChannel("mcpkg") : null;
let newest = body.dataset.at;
let settled = 0;
let [reading, again] = [false, false];
let leave = null;

function say(text, isQuiet) {
  status.classList.toggle("hidden", Boolean(isQuiet));
  if (status.textContent !== text) status.textContent = text;
}

// Puts the differences of a node into another one, so that unchanged nodes stay the same.
function merge(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) return void (old.nodeValue = fresh.nodeValue);
  // A form with typed text, or whose passkey is being asked, keeps the state that it was opened with: the server refuses it
  // if that is outdated.
  if (old.nodeName === "FORM" && ("asking" in old.dataset || "kept" in old.dataset || isTyped(old))) {
    return void old.dispatchEvent(new CustomEvent("fresh", { detail: fresh }));
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const keyed = new Map([...old.children].filter(key).map((child) => [key(child), child]));
  const kept = new Set([...fresh.children].filter(key).map(key));
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    while (at && key(at) && !kept.has(key(at))) at = removed(at);
    const same = key(next) ? keyed.get(key(next)) : at && !key(at) && at;
    if (!same) {
      old.insertBefore(next, at);
    } else {
      if (same === at) at = at.nextSibling;
      else (old.moveBefore || old.insertBefore).call(old, same, at);
      merge(same, next);
    }
  }
  while (at) at = removed(at);
}

function key(node) {
  return node instanceof Element && (node.getAttribute("id") || node.getAttribute("data-key"));
}

function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function isTyped(form) {
  return [...form.elements].some((field) => {
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    if (field.options) return [...field.options].some((option) => option.selected !== option.defaultSelected);
    return field.type !== "hidden" && "defaultValue" in field && field.value !== field.defaultValue;
  });
}

// Reads the page again. A request for a document parses it without running anything.
function read() {
  if (document.hidden || body.dataset.at === undefined) return;
  if (reading) return void (again = true);
  [reading, again] = [true, false];
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.setRequestHeader("mcpkg-live", "1");
  request.onloadend = () => {
    reading = false;
    const fresh = request.response;
    if (request.status === 401) return say("This browser is not signed in any more. Load the page again.");
    if (!fresh || !fresh.querySelector("header")) return say(away);
    const before = document.querySelector("main").textContent;
    merge(document.querySelector("header"), fresh.querySelector("header"));
    merge(document.querySelector("main"), fresh.querySelector("main"));
    document.title = fresh.title;
    body.dataset.at = fresh.body.dataset.at || body.dataset.at;
    if (fresh.body.dataset.job === undefined) delete body.dataset.job;
    if (again) read();
    if (before === document.querySelector("main").textContent) return say("", true);
    settled = performance.now() + 700;
    const sub = document.querySelector("main .sub");
    say(`Updated${sub ? ": " + sub.textContent : ""}`, true);
  };
  request.send();
}

function heard(at) {
  if (at === null) return say(away);
  if (status.textContent === away) say("", true);
  newest = at;
  if (at !== body.dataset.at) read();
}

function tell(at) {
  if (tabs) tabs.postMessage(at);
  heard(at);
}

function listen() {
  const source = new EventSource("/events");
  source.onmessage = (event) => tell(event.data);
  source.onerror = () => {
    tell(null);
    if (source.readyState !== EventSource.CLOSED) return;
    stop();
    read();
  };
  return source;
}

function stop() {
  if (leave) leave();
  leave = null;
}

// Only visible tabs compete for the lock. A hidden one gives it back.
function look() {
  if (document.hidden) return stop();
  heard(newest);
  if (leave) return;
  const left = new Promise((resolve) => (leave = resolve));
  const stream = async () => {
    const source = listen();
    await left;
    source.close();
  };
  if (!tabs) return void stream();
  const queue = new AbortController();
  left.then(() => queue.abort());
  navigator.locks.request("mcpkg", { signal: queue.signal }, stream).catch(() => {});
}

// What is under the pointer may have just changed. A press that was meant for the page before does not count. The form of an
// editor keeps its buttons where they are.
addEventListener("click", (event) => {
  if (event.target.closest("main button:not([data-kept] *)") && performance.now() < settled) event.preventDefault();
}, true);

// An editor keeps unsaved text in its tab until you sign out.
addEventListener("submit", (event) => {
  if (event.target.getAttribute("action") === "/logout") sessionStorage.clear();
});

if (tabs) tabs.onmessage = (event) => heard(event.data);
document.addEventListener("visibilitychange", look);
addEventListener("pageshow", look);
addEventListener("pagehide", stop);
if ("job" in body.dataset) setInterval(() => "job" in body.dataset && read(), 1000);
