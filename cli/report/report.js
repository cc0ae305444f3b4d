/*
 * report.js - the page of `kiln report`. All of its data stands in the element "data" (cli/report_data.c).
 *
 * Texts come from programs and files: they become text nodes, never markup. Everything that is drawn on the canvas is also
 * in a table, and everything that a pointer does a key does too.
 */
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const events = data.events, texts = data.texts || [""], count = events ? events.kind.length : 0;
const text = (column, i) => texts[events[column][i]];

/* ---- words ------------------------------------------------------------------------------------------------------ */

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (name === "onclick") element.addEventListener("click", value); else if (value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function time(ns) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"]];
  for (const [size, unit] of units) if (ns >= size) return (ns / size).toFixed(ns / size < 10 ? 2 : 1) + " " + unit;
  return Math.round(ns) + " ns";
}
function bytes(size) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (size >= 1024 && unit + 1 < units.length) size /= 1024, unit++;
  return (unit ? size.toFixed(1) : size) + " " + units[unit];
}
const plural = (number, word) => number + " " + word + (number === 1 ? "" : "s");
const date = (unix) => new Date(unix * 1000).toISOString().slice(0, 16).replace("T", " ");

/* ---- tables that sort ------------------------------------------------------------------------------------------- */

/* columns: {title, value(row), show(row) -> text or element, className}. Sorted by `by`, the largest first. */
function table(element, columns, rows, by, caption) {
  let order = by, down = true;
  function fill() {
    const value = columns[order].value;
    const sorted = [...rows()].sort((a, b) => {
      const x = value(a), y = value(b), less = typeof x === "string" ? x.localeCompare(y) : x - y;
      return down ? -less : less;
    });
    const head = make("tr", {}, ...columns.map((column, i) => make("th",
      { scope: "col", class: column.className, "aria-sort": i === order ? (down ? "descending" : "ascending") : undefined },
      make("button", { type: "button", onclick: () => { down = i === order ? !down : typeof column.value(rows()[0] || {}) !== "string"; order = i; fill(); element.querySelectorAll("th button")[i].focus(); } }, column.title))));
    const body = sorted.slice(0, 1000).map((row) => {
      const line = make("tr", {}, ...columns.map((column) => make("td", { class: column.className }, column.show ? column.show(row) : String(column.value(row)))));
      line.row = row;
      return line;
    });
    element.replaceChildren(make("caption", { class: "faint" }, caption(sorted.length)), make("thead", {}, head), make("tbody", {}, ...body));
  }
  fill();
  return fill;
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

/* An event is written when it ends, so a call stands behind what is inside of it. A call that holds the one before it of the
 * same function is the same call. */
function gather() {
  const functions = new Map();
  const blank = (name) => ({ name, calls: 0, made: 0, found: 0, traces: 0, compiles: 0, compileTime: 0, runs: 0, runTime: 0, misses: [] });
  for (let i = 0; i < count; i++) {
    const name = text("function", i);
    if (!name) continue;
    if (!functions.has(name)) functions.set(name, blank(name));
    const f = functions.get(name), kind = text("kind", i), duration = events.duration[i];
    if (kind === "call") {
      const last = f.last;
      if (last !== undefined && events.start[i] <= events.start[last] && events.thread[i] === events.thread[last]) {
        f.calls--;
        if (text("outcome", last) === "made") f.made--; else f.found--;
        if (f.misses.length && f.misses[f.misses.length - 1] === last) f.misses.pop();
      }
      f.calls++;
      if (text("outcome", i) === "made") f.made++; else f.found++;
      if (text("outcome", i) === "made" && text("reason", i)) f.misses.push(i);
      f.last = i;
    }
    if (kind === "trace" || kind === "lower") f.traces++;
    if (kind === "compile") f.compiles++, f.compileTime += duration;
    if (kind === "run") f.runs++, f.runTime += duration;
  }
  return [...functions.values()];
}
const functions = gather();

function reason(i) {
  const name = text("function", i) + ": ", words = text("reason", i);
  return words.startsWith(name) ? words.slice(name.length) : words;
}

function showMisses(f) {
  const causes = new Map();
  for (const i of f.misses) {
    if (!causes.has(reason(i))) causes.set(reason(i), []);
    causes.get(reason(i)).push(i);
  }
  const list = make("ul", {});
  for (const [words, all] of causes) {
    const longest = all.reduce((a, b) => (events.duration[a] >= events.duration[b] ? a : b));
    list.append(make("li", {}, words + " \u2014 " + plural(all.length, "call") + ", the longest " + time(events.duration[longest]) + " ",
      make("button", { type: "button", onclick: () => lanes.choose(longest, true) }, "Show in the time line")));
  }
  $("misses").replaceChildren(make("h3", {}, "Why " + f.name + " missed"), causes.size ? list : make("p", {}, "No call of it missed."));
  for (const row of $("functions-table").querySelectorAll("tbody tr")) row.classList.toggle("chosen", row.row === f);
}

function setUpFunctions() {
  if (!functions.length) return $("functions").hidden = true;
  const wanted = () => functions.filter((f) => f.name.toLowerCase().includes($("functions-find").value.toLowerCase()));
  const columns = [
    { title: "Function", value: (f) => f.name, className: "text", show: (f) => make("button", { type: "button", class: "link", onclick: () => showMisses(f) }, f.name) },
    { title: "Calls recorded", value: (f) => f.calls }, { title: "Missed", value: (f) => f.made }, { title: "Found in process", value: (f) => f.found },
    { title: "Traces", value: (f) => f.traces }, { title: "Compiles", value: (f) => f.compiles },
    { title: "Compile time", value: (f) => f.compileTime, show: (f) => time(f.compileTime) },
    { title: "Runs", value: (f) => f.runs }, { title: "Run time", value: (f) => f.runTime, show: (f) => time(f.runTime) },
  ];
  const fill = table($("functions-table"), columns, wanted, 6, (n) => plural(n, "function") + "; hits of a thread's own cache are not recorded");
  const update = () => { fill(); $("functions-count").textContent = wanted().length + " of " + functions.length; };
  $("functions-find").addEventListener("input", update);
  update();
}

/* ---- what was saved --------------------------------------------------------------------------------------------- */

function setUpCost() {
  const known = new Map((data.folder ? data.folder.artifacts : []).map((a) => [a.digest, a.compile]));
  const points = [];
  let compiles = 0, spent = 0, found = 0, saved = 0;
  for (let i = 0; i < count; i++) {
    const kind = text("kind", i), end = events.start[i] + events.duration[i];
    if (kind === "compile") points.push([end, events.duration[i], 0]), compiles++, spent += events.duration[i];
    if ((kind === "read" || kind === "remote") && text("outcome", i) === "found") {
      const worth = known.get(text("key", i)) || 0;
      points.push([end, 0, worth]), found++, saved += worth;
    }
  }
  const artifacts = known.size, stored = [...known.values()].reduce((a, b) => a + b, 0);
  $("summary").textContent = count
    ? plural(compiles, "kernel") + " compiled in " + time(spent) + "; " + found + " found in folders and remotes, which saved " + time(saved) + " of compiling."
    : "The folder holds " + plural(artifacts, "artifact") + ", which took " + time(stored) + " to compile.";
  $("source").textContent = (data.source || data.folder.path) + (data.bad_lines ? ", without " + plural(data.bad_lines, "line") + " that are no events" : "") + " \u00b7 Kiln " + data.version;
  if (!points.length) {
    $("chart").hidden = true;
    $("chart-text").textContent = count ? "Nothing was compiled, and nothing was looked for in a folder." : "";
    if (!count) $("cost").hidden = true;
    return;
  }
  points.sort((a, b) => a[0] - b[0]);
  const x = [0], cost = [0], gain = [0];
  for (const [at, c, g] of points) x.push(at / 1e9), cost.push(cost[cost.length - 1] + c / 1e6), gain.push(gain[gain.length - 1] + g / 1e6);
  const style = getComputedStyle(document.documentElement), axis = { stroke: style.getPropertyValue("--faint"), grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
  const stepped = uPlot.paths.stepped({ align: 1 });
  const width = () => Math.max(280, $("chart").clientWidth);
  const chart = new uPlot({
    width: width(), height: 220, scales: { x: { time: false } },
    axes: [{ ...axis, label: "seconds since the first event" }, { ...axis, label: "ms" }],
    series: [{ label: "s" }, { label: "spent compiling, ms", stroke: style.getPropertyValue("--accent"), width: 2, paths: stepped }, { label: "saved, ms", stroke: style.getPropertyValue("--focus"), width: 2, dash: [6, 3], paths: stepped }],
  }, [x, cost, gain], $("chart"));
  addEventListener("resize", () => chart.setSize({ width: width(), height: 220 }));
  $("chart-text").textContent = "At the end: " + time(spent) + " spent, " + time(saved) + " saved.";
}

/* ---- the time line ---------------------------------------------------------------------------------------------- */

const colours = { call: "#8e6bbf", lower: "#2f8f83", trace: "#2f8f83", plan: "#4b7f2f", read: "#3b7dd8", remote: "#1f5fa8", store: "#6b8fb5", compile: "#c7541a", phase: "#e08a4f",
  "open the compiler": "#a33c3c", link: "#b58a1e", run: "#5d7288", kernel: "#3f9142", launch: "#3f9142", operation: "#7fa650", "wait for a process": "#b23a6f", "wait for a thread": "#b23a6f" };
const colourOf = (kind) => colours[kind] || "#808890";
const laneHeight = 18, laneGap = 10, headHeight = 18;

const lanes = (() => {
  if (!count) { $("timeline").hidden = true; return { choose() {} }; }
  const canvas = $("lanes"), paint = canvas.getContext("2d");
  let total = 1;
  for (let i = 0; i < count; i++) total = Math.max(total, events.start[i] + events.duration[i]);
  let from = 0, to = total, chosen = -1;
  const kinds = [...new Set(events.kind)].map((k) => texts[k]);
  const shown = new Set(kinds);

  /* Threads in the order in which they came; within one, events that are inside of others stand below them. */
  const byThread = new Map();
  for (let i = 0; i < count; i++) {
    const id = events.process[i] + ":" + events.thread[i];
    if (!byThread.has(id)) byThread.set(id, { id, process: events.process[i], thread: events.thread[i], list: [], depth: 1 });
    byThread.get(id).list.push(i);
  }
  const nameOf = (process, thread) => { const n = (data.names || []).find((m) => m.process === process && m.thread === thread); return n && n.name; };
  const threads = [...byThread.values()];
  const depths = new Uint8Array(count);
  for (const t of threads) {
    t.list.sort((a, b) => events.start[a] - events.start[b] || events.duration[b] - events.duration[a]);
    const open = [];
    for (const i of t.list) {
      while (open.length && open[open.length - 1] <= events.start[i]) open.pop();
      depths[i] = Math.min(open.length, 11);
      t.depth = Math.max(t.depth, depths[i] + 1);
      open.push(events.start[i] + events.duration[i]);
    }
    t.title = (nameOf(t.process, 0) || "process") + " " + t.process + (nameOf(t.process, t.thread) && t.thread ? ", " + nameOf(t.process, t.thread) : ", thread " + t.thread);
  }
  let height = 0;
  for (const t of threads) { t.top = height; height += headHeight + t.depth * laneHeight + laneGap; }
  const cssHeight = Math.min(height + 4, 4000);

  const wanted = () => $("timeline-function").value;
  const isShown = (i) => shown.has(text("kind", i)) && (!wanted() || text("function", i) === wanted());
  const width = () => canvas.clientWidth || 600;
  const xOf = (ns) => (ns - from) / (to - from) * width();

  function draw() {
    const ratio = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    canvas.style.height = cssHeight + "px";
    canvas.width = width() * ratio, canvas.height = cssHeight * ratio;
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.clearRect(0, 0, width(), cssHeight);
    paint.font = "12px system-ui, sans-serif", paint.textBaseline = "middle";
    for (const t of threads) {
      paint.fillStyle = style.getPropertyValue("--text");
      paint.fillText(t.title, 4, t.top + headHeight / 2);
      const last = new Float64Array(12).fill(-1);
      for (const i of t.list) {
        const start = events.start[i], end = start + events.duration[i];
        if (end < from) continue;
        if (start > to) break;
        if (!isShown(i)) continue;
        const x = Math.max(0, xOf(start)), w = Math.max(1, Math.min(width(), xOf(end)) - x), depth = depths[i];
        if (x + w <= last[depth] + 0.5) continue; /* another event has this pixel */
        last[depth] = x + w;
        const y = t.top + headHeight + depth * laneHeight;
        paint.fillStyle = colourOf(text("kind", i));
        paint.fillRect(x, y, w, laneHeight - 2);
        if (i === chosen) { paint.strokeStyle = style.getPropertyValue("--text"); paint.lineWidth = 2; paint.strokeRect(x + 1, y + 1, Math.max(w - 2, 1), laneHeight - 4); }
        if (w > 40) {
          paint.save(); paint.beginPath(); paint.rect(x, y, w, laneHeight); paint.clip();
          paint.fillStyle = "#fff"; paint.fillText(text("name", i), x + 4, y + laneHeight / 2); paint.restore();
        }
      }
    }
  }

  function inView() {
    const list = [];
    for (let i = 0; i < count; i++) if (events.start[i] <= to && events.start[i] + events.duration[i] >= from && isShown(i)) list.push(i);
    list.sort((a, b) => events.duration[b] - events.duration[a]);
    return list.slice(0, 200);
  }
  let view = [];
  const fillLongest = table($("longest"), [
    { title: "Event", value: (i) => text("name", i), className: "text", show: (i) => make("button", { type: "button", class: "link", onclick: () => choose(i, true) }, text("name", i)) },
    { title: "Kind", value: (i) => text("kind", i), className: "text" }, { title: "Function", value: (i) => text("function", i), className: "text" },
    { title: "Start", value: (i) => events.start[i], show: (i) => time(events.start[i]) }, { title: "Time", value: (i) => events.duration[i], show: (i) => time(events.duration[i]) },
  ], () => view, 4, (n) => plural(n, "event") + " in view, no more than 200");

  let pending = 0;
  function update() {
    if (pending) return;
    pending = requestAnimationFrame(() => { pending = 0; draw(); view = inView(); if ($("longest").closest("details").open) fillLongest(); });
  }
  $("longest").closest("details").addEventListener("toggle", () => { view = inView(); fillLongest(); });

  function show(start, end) {
    const span = Math.min(total, Math.max(end - start, 100));
    from = Math.max(0, Math.min(start, total - span)), to = from + span;
    update();
  }
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at - (at - from) * factor + (to - from) * factor);
  const pan = (part) => show(from + (to - from) * part, to + (to - from) * part);

  function choose(i, move) {
    chosen = i;
    const facts = [["kind", text("kind", i)], ["function", text("function", i)], ["why", text("reason", i) && reason(i)], ["time", time(events.duration[i])], ["start", time(events.start[i])],
      ["outcome", text("outcome", i)], ["where", text("where", i)], ["key", text("key", i)], ["bytes", events.bytes[i] ? bytes(events.bytes[i]) + (events.duration[i] ? ", " + (events.bytes[i] / events.duration[i]).toFixed(2) + " GB/s" : "") : ""]];
    const list = make("dl", {});
    for (const [name, value] of facts) if (value) list.append(make("dt", {}, name), make("dd", {}, value));
    $("event").replaceChildren(make("h3", {}, text("name", i)), list);
    if (move) {
      const pad = Math.max(events.duration[i], 1000);
      show(events.start[i] - pad / 2, events.start[i] + events.duration[i] + pad / 2);
      $("timeline").scrollIntoView();
      canvas.focus({ preventScroll: true });
    } else update();
  }
  function at(x, y) {
    const ns = from + x / width() * (to - from), slack = (to - from) / width() * 2;
    const t = threads.find((u) => y >= u.top && y < u.top + headHeight + u.depth * laneHeight + laneGap);
    if (!t) return -1;
    const depth = Math.floor((y - t.top - headHeight) / laneHeight);
    let best = -1;
    for (const i of t.list)
      if (depths[i] === depth && isShown(i) && events.start[i] - slack <= ns && events.start[i] + events.duration[i] + slack >= ns && (best < 0 || events.duration[i] > events.duration[best])) best = i;
    return best;
  }
  /* From the chosen event to the next one in view, as a person goes who uses keys. */
  function step(direction) {
    const list = [];
    for (let i = 0; i < count; i++) if (isShown(i)) list.push(i);
    list.sort((a, b) => events.start[a] - events.start[b] || events.duration[b] - events.duration[a]);
    const place = list.indexOf(chosen), next = list[place < 0 ? 0 : Math.max(0, Math.min(list.length - 1, place + direction))];
    if (next !== undefined) { choose(next, false); if (events.start[next] > to || events.start[next] < from) show(events.start[next] - (to - from) / 2, events.start[next] + (to - from) / 2); }
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (e) => { drag = { x: e.offsetX, from, to, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (!drag) return;
    if (Math.abs(e.offsetX - drag.x) > 3) drag.moved = true;
    if (drag.moved) { const shift = (drag.x - e.offsetX) / width() * (drag.to - drag.from); show(drag.from + shift, drag.to + shift); }
  });
  canvas.addEventListener("pointerup", (e) => { if (drag && !drag.moved) { const i = at(e.offsetX, e.offsetY); if (i >= 0) choose(i, false); } drag = null; });
  canvas.addEventListener("wheel", (e) => { if (!e.ctrlKey && !e.metaKey) return; e.preventDefault(); zoom(e.deltaY > 0 ? 1.3 : 1 / 1.3, from + e.offsetX / width() * (to - from)); }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), "0": () => show(0, total), Home: () => show(0, to - from), n: () => step(1), p: () => step(-1) };
    if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); keys[e.key](); }
  });
  $("zoom-in").addEventListener("click", () => zoom(0.5)); $("zoom-out").addEventListener("click", () => zoom(2));
  $("pan-left").addEventListener("click", () => pan(-0.25)); $("pan-right").addEventListener("click", () => pan(0.25)); $("zoom-all").addEventListener("click", () => show(0, total));
  addEventListener("resize", update);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);

  const select = $("timeline-function");
  select.append(make("option", { value: "" }, "all"), ...functions.map((f) => make("option", { value: f.name }, f.name)));
  select.addEventListener("change", update);
  for (const kind of kinds) {
    const box = make("input", { type: "checkbox" });
    box.checked = true;
    box.addEventListener("change", () => { if (box.checked) shown.add(kind); else shown.delete(kind); update(); });
    const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = colourOf(kind);
    $("timeline-kinds").append(make("label", {}, box, swatch, kind));
  }
  canvas.title = "Keys: + and - zoom, arrows move, n and p go from event to event, 0 shows all. Ctrl and the wheel zoom.";
  update();
  return { choose };
})();

/* ---- plans ------------------------------------------------------------------------------------------------------ */

const fact = (kernel, name) => { const found = kernel.facts.find((f) => f[0] === name); return found ? found[1] : ""; };

/* Of each function the youngest kernel that has a plan; its facts from "plan" on are the plan's. */
function findPlans() {
  const plans = new Map();
  for (const kernel of data.folder ? data.folder.kernels : []) {
    if (!fact(kernel, "plan")) continue;
    const name = fact(kernel, "function"), old = plans.get(name);
    if (!old || kernel.created >= old.created) plans.set(name, kernel);
  }
  return plans;
}

/* "3:24 4:8 > 5:24" */
function readEdges(words) {
  const side = (part) => part.trim().split(/\s+/).filter((w) => /^\d+:\d+$/.test(w)).map((w) => w.split(":").map(Number));
  const [left, right] = words.split(">");
  return { from: side(left || ""), to: side(right || "") };
}

function readPlan(kernel) {
  const steps = [];
  for (const [name, value] of kernel.facts) {
    const step = /^step (\d+)$/.exec(name), edges = /^edges (\d+)$/.exec(name);
    if (step) steps[step[1] - 1] = { title: value, edges: { from: [], to: [] }, ...steps[step[1] - 1] };
    if (edges && steps[edges[1] - 1]) steps[edges[1] - 1].edges = readEdges(value);
  }
  return { steps: steps.filter(Boolean), outputs: readEdges(fact(kernel, "edges")).to, inputs: parseInt(fact(kernel, "edges"), 10) || 0 };
}

const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/* What kernels of this name and function achieved in the run: bytes for each nanosecond are GB/s. */
function speedOf(functionName, kernelName) {
  let size = 0, spent = 0;
  for (let i = 0; i < count; i++)
    if (text("kind", i) === "kernel" && text("name", i) === kernelName && text("function", i) === functionName) size += events.bytes[i], spent += events.duration[i];
  return spent ? size / spent * 1e9 : 0;
}

/* Steps in rows: each stands below all that it reads. */
function drawPlan(name, plan) {
  const maker = new Map(), level = [], rows = [];
  plan.steps.forEach((step, i) => step.edges.to.forEach(([slot]) => maker.set(slot, i)));
  plan.steps.forEach((step, i) => {
    level[i] = 1 + Math.max(0, ...step.edges.from.map(([slot]) => (maker.has(slot) && maker.get(slot) < i ? level[maker.get(slot)] : 0)));
    (rows[level[i]] = rows[level[i]] || []).push(i);
  });
  const boxWidth = 230, boxHeight = 58, gapX = 30, gapY = 60;
  const widest = Math.max(1, ...rows.filter(Boolean).map((r) => r.length));
  const width = widest * (boxWidth + gapX) + gapX, height = (rows.length + 1) * (boxHeight + gapY);
  const place = [];
  rows.forEach((row, y) => row && row.forEach((i, x) => { place[i] = { x: gapX + (width - row.length * (boxWidth + gapX)) / 2 + x * (boxWidth + gapX), y: y * (boxHeight + gapY) }; }));
  const top = { x: width / 2 - boxWidth / 2, y: 6 }, bottom = { x: width / 2 - boxWidth / 2, y: height - boxHeight - 6 };
  const picture = svg("svg", { width, height, role: "img", "aria-label": "Plan of " + name + ": " + plural(plan.steps.length, "step") + "; the list below says the same" });
  const edge = (a, b, label, shift) => {
    const x1 = a.x + boxWidth / 2, y1 = a.y + boxHeight, x2 = b.x + boxWidth / 2, y2 = b.y;
    picture.append(svg("path", { d: "M" + x1 + " " + y1 + " C" + x1 + " " + (y1 + 30) + " " + x2 + " " + (y2 - 30) + " " + x2 + " " + y2 }));
    picture.append(svg("text", { x: (x1 + x2) / 2 + 4 + shift * 14, y: (y1 + y2) / 2 + shift * 12, class: "small" }, label));
  };
  plan.steps.forEach((step, i) => step.edges.from.forEach(([slot, size], k) => {
    const from = maker.has(slot) && maker.get(slot) < i ? place[maker.get(slot)] : { x: top.x, y: top.y };
    edge(from, place[i], bytes(size), k);
  }));
  plan.outputs.forEach(([slot, size], k) => edge(maker.has(slot) ? place[maker.get(slot)] : top, bottom, bytes(size), k));
  const box = (at, kind, lines, share) => {
    const group = svg("g", {}, svg("rect", { x: at.x, y: at.y, width: boxWidth, height: boxHeight, rx: 4, class: kind }));
    lines.forEach((line, k) => group.append(svg("text", { x: at.x + 8, y: at.y + 18 + k * 16, class: k ? "small" : "" }, line.length > 36 ? line.slice(0, 35) + "\u2026" : line)));
    group.append(svg("title", {}, lines.join("\n")));
    if (share !== undefined) group.append(svg("rect", { x: at.x, y: at.y + boxHeight - 5, width: boxWidth * Math.min(1, share), height: 5, class: "bar" }));
    picture.append(group);
  };
  box(top, "", ["inputs", plural(plan.inputs, "array") + " and what was captured"]);
  box(bottom, "", ["outputs", plural(plan.outputs.length, "array")]);
  plan.steps.forEach((step, i) => {
    const kernel = /^kernel (.*?) \[[0-9a-f]+\](?:: (.*?))?, reads /.exec(step.title), speed = kernel ? speedOf(name, kernel[1]) : 0;
    const share = speed && data.bandwidth ? speed / data.bandwidth : undefined;
    const words = share === undefined ? "" : (speed / 1e9).toFixed(1) + " GB/s, " + Math.round(share * 100) + "% of this machine's copy";
    box(place[i], kernel ? "kernel" : "", kernel ? [kernel[1], kernel[2] || "", words] : [step.title.split(",")[0], "operation"], share);
  });
  return picture;
}

function showPlan(name, kernel) {
  const plan = readPlan(kernel);
  $("plan-text").textContent = fact(kernel, "plan") + "; takes " + fact(kernel, "takes") + "; gives " + fact(kernel, "gives");
  const steps = make("ol", {}, ...plan.steps.map((step) => make("li", {}, step.title)));
  $("plan-graph").replaceChildren(drawPlan(name, plan));
  const marks = new Set(plan.steps.map((step) => (/\[([0-9a-f]+)\]/.exec(step.title) || [])[1]).filter(Boolean));
  const kernels = data.folder.kernels.filter((k) => marks.has(fact(k, "mark")));
  $("plan-kernels").replaceChildren(make("details", {}, make("summary", {}, "Steps as text"), steps),
    ...kernels.map((k) => make("details", {}, make("summary", {}, (k.entry || k.function) + " " + k.digest.slice(0, 12)), make("pre", { tabindex: "0" }, k.text || "no text was kept"))));
}

function setUpPlans() {
  const plans = findPlans(), select = $("plans-function");
  if (!plans.size) return $("plans").hidden = true;
  const names = [...plans.keys()].sort((a, b) => (plans.get(b).facts.length - plans.get(a).facts.length) || a.localeCompare(b));
  select.append(...names.map((name) => make("option", { value: name }, name)));
  const update = () => showPlan(select.value, plans.get(select.value));
  select.addEventListener("change", update);
  update();
}

/* ---- the folder ------------------------------------------------------------------------------------------------- */

function setUpFolder() {
  if (!data.folder) return $("folder").hidden = true;
  const byFunction = new Map();
  for (const a of data.folder.artifacts) {
    const name = a.function || "(unknown)";
    if (!byFunction.has(name)) byFunction.set(name, { name, count: 0, bytes: 0, compile: 0, oldest: Infinity, youngest: 0 });
    const f = byFunction.get(name);
    f.count++, f.bytes += a.bytes, f.compile += a.compile, f.oldest = Math.min(f.oldest, a.created), f.youngest = Math.max(f.youngest, a.created);
  }
  const rows = [...byFunction.values()], total = rows.reduce((sum, f) => sum + f.bytes, 0);
  $("folder-text").textContent = data.folder.path + ": " + plural(data.folder.artifacts.length, "artifact") + ", " + bytes(total) + ", of " + plural(rows.length, "function");
  const wanted = () => rows.filter((f) => f.name.toLowerCase().includes($("folder-find").value.toLowerCase()));
  const fill = table($("folder-table"), [
    { title: "Function", value: (f) => f.name, className: "text" }, { title: "Artifacts", value: (f) => f.count }, { title: "Size", value: (f) => f.bytes, show: (f) => bytes(f.bytes) },
    { title: "Compile time held", value: (f) => f.compile, show: (f) => time(f.compile) }, { title: "Oldest", value: (f) => f.oldest, show: (f) => date(f.oldest) }, { title: "Youngest", value: (f) => f.youngest, show: (f) => date(f.youngest) },
  ], wanted, 2, (n) => plural(n, "function"));
  $("folder-find").addEventListener("input", fill);
}

setUpCost();
setUpFunctions();
setUpPlans();
setUpFolder();
document.body.dataset.ready = "yes";
})();
