// All of the console's script. Pages work without it; with it, costs follow the typing and SQL has colours.
// No text ever becomes HTML here: the policy requires trusted types, and this script makes none.

const WORDS =
  "select|from|where|group|by|having|order|limit|and|or|not|in|between|like|is|null|as|count|sum|avg|min|max|median|" +
  "stddev|variance|distinct|case|when|then|else|end|asc|desc|true|false";
const TOKEN = new RegExp(
  `(?<note>--.*)|(?<text>'(?:[^']|'')*'?)|(?<digits>\\b\\d+(?:\\.\\d+)?\\b)|(?<word>\\b(?:${WORDS})\\b)`,
  "gi",
);

/** Paint the SQL of a textarea in colours, on a layer behind it. */
function coloured(area) {
  const layer = document.createElement("pre");
  layer.ariaHidden = "true";
  layer.className = "layer";
  area.before(layer);
  area.classList.add("over");
  const paint = () => {
    const parts = [];
    let at = 0;
    for (const found of area.value.matchAll(TOKEN)) {
      const [kind] = Object.entries(found.groups).find(([, value]) => value !== undefined);
      const span = document.createElement("span");
      span.className = kind;
      span.textContent = found[0];
      parts.push(area.value.slice(at, found.index), span);
      at = found.index + found[0].length;
    }
    layer.replaceChildren(...parts, area.value.slice(at), "\n");
    layer.scrollTop = area.scrollTop;
  };
  area.addEventListener("input", paint);
  area.addEventListener("scroll", () => (layer.scrollTop = area.scrollTop));
  new ResizeObserver(paint).observe(area);
  paint();
}

/** Fetch a page of ours as a document. A browser parses it as it parses a page, and runs nothing in it. */
function fetched(address, body) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.responseType = "document";
    request.onload = () => resolve(request);
    request.onerror = () => reject(new Error("no connection"));
    request.send(body);
  });
}

/**
 * Keep a part of the page up to date with a form: data-live is the address, data-part the id of the part.
 * The service answers one request of an analyst at a time, so one is under way at most, and a form that is sent
 * meanwhile waits for it.
 */
function live(form) {
  const part = document.getElementById(form.dataset.part);
  let timer;
  let busy = null;
  let stale = false;
  const update = async () => {
    if (busy) {
      stale = true;
      return;
    }
    stale = false;
    part.ariaBusy = "true";
    busy = fetched(form.dataset.live, new URLSearchParams(new FormData(form)))
      .then((request) => {
        const found = request.response?.getElementById(form.dataset.part);
        if (found) part.replaceChildren(...document.importNode(found, true).childNodes);
        else if (request.status === 409) stale = true;
      })
      .catch(() => {});
    await busy;
    busy = null;
    part.ariaBusy = "false";
    if (stale) later(300);
  };
  const later = (wait) => {
    clearTimeout(timer);
    timer = setTimeout(update, wait);
  };
  form.addEventListener("input", () => later(350));
  form.addEventListener("submit", (event) => {
    clearTimeout(timer);
    stale = false;
    if (!busy) return;
    event.preventDefault();
    busy.then(() => setTimeout(() => form.requestSubmit(event.submitter)));
  });
  if (form.dataset.begin !== undefined) update();
}

/** Put a button beside a text that copies it. */
function copied(box) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
  button.className = "second";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(box.querySelector("pre").textContent);
    button.textContent = "Copied";
  });
  box.append(button);
}

/** Show the number that a slider stands at, beside it. */
function number(slider) {
  const shown = document.getElementById(slider.dataset.shows);
  const show = () => (shown.textContent = Number(slider.value).toLocaleString("en"));
  slider.addEventListener("input", show);
  show();
}

document.querySelectorAll("textarea[data-sql]").forEach(coloured);
document.querySelectorAll("form[data-live]").forEach(live);
document.querySelectorAll(".copy").forEach(copied);
document.querySelectorAll("input[data-shows]").forEach(number);
