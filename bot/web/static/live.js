// Keeps what a page shows up to date. All of it works without, by loading the page again.
"use strict";

// Replaces what changes as the bot sends it. What is being written stays. A new question cannot be answered with
// a click that was meant for the one before.
const part = document.querySelector("[data-live]");
let shown = "";
function replace(html) {
  if (html === shown) return;
  shown = html;
  const typed = document.getElementById("answer");
  const before = typed && { question: typed.form.question.value, text: typed.value, focused: typed === document.activeElement };
  part.innerHTML = html;
  const now = document.getElementById("answer");
  if (now && before && now.form.question.value === before.question) {
    now.value = before.text;
    if (before.focused) now.focus();
    return;
  }
  if (before && before.text) {
    const left = document.createElement("pre");
    left.textContent = "You had written: " + before.text;
    part.append(left);
  }
  for (const button of part.querySelectorAll(".question button")) {
    button.disabled = true;
    setTimeout(() => { button.disabled = false; }, 1000);
  }
}
function follow() {
  const events = new EventSource(part.dataset.live);
  events.onmessage = (event) => { delete part.dataset.stale; replace(JSON.parse(event.data)); };
  events.onopen = () => { delete part.dataset.stale; };
  events.addEventListener("end", () => {
    events.close();
    document.getElementById("stop")?.remove();
  });
  events.onerror = () => { // as long as the bot restarts; a browser gives up on some answers
    part.dataset.stale = "";
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  };
}
if (part) follow();

// Signing in: a button that copies the command.
const copy = document.getElementById("copy");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.onclick = () => navigator.clipboard.writeText(document.getElementById("code").textContent).then(() => { copy.textContent = "Copied"; });
}
