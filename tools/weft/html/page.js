// The page of `weft dot --html`. In one file, since it is one script of one page: data, state, drawing, moving, selecting,
// the panel, search and switches, the address, input.
"use strict";
(() => {
// --- data -------------------------------------------------------------------------------------------------------
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const HEADER = data.header, ROW = data.row, WIDTH = data.width, HEIGHT = data.height;
const classes = data.classes, byClassId = new Map(), byNodeId = new Map();
classes.forEach((c, i) => {
  c.index = i;
  c.users = [];
  byClassId.set(c.id, c);
  c.nodes.forEach((n, row) => {
    n.of = c;
    n.row = row;
    byNodeId.set(n.id, n);
    n.find = [n.label, data.rules[n.rule][0], "n" + n.id].join("\n").toLowerCase();
  });
  c.find = [c.names.join("\n"), c.facts, "c" + c.id].join("\n").toLowerCase();
});
for (const c of classes)
  for (const n of c.nodes)
    n.operands.forEach(id => { const t = byClassId.get(id); if (t) t.users.push(n); });
const lastStage = data.stages.length - 1;
const time = ns => ns === null ? "cannot run" : ns < 1e3 ? ns + " ns" : ns < 1e6 ? (ns / 1e3).toFixed(1) + " µs" : (ns / 1e6).toFixed(2) + " ms";

// --- state ------------------------------------------------------------------------------------------------------
const state = {stage: lastStage, node: null, class: null, query: "", hits: [], found: new Set(), hit: -1, chosen: false, mirror: false,
               view: {x: 0, y: 0, s: 1}, hover: null};
const root = document.documentElement;
let colours = {};

function readColours() {
  const dark = root.dataset.theme === "dark";
  colours = dark
    ? {back: "#0b1120", box: "#172238", head: "#24324f", ink: "#e2e8f0", soft: "#94a3b8", line: "#475569", edge: "rgba(148,163,184,.38)",
       chosen: "#92580a", chosenEdge: "#f59e0b", chosenInk: "#fff7e6", kernel: "#1b2f4d", leaf: "#1f3326", fresh: "#22c55e", select: "#60a5fa",
       hit: "#f472b6", missing: "#4c1d24", far: "#3b4d6e", missing_edge: "#f87171", back_edge: "rgba(148,163,184,.2)", output: "#38bdf8"}
    : {back: "#f8fafc", box: "#ffffff", head: "#e2e8f0", ink: "#0f172a", soft: "#64748b", line: "#94a3b8", edge: "rgba(71,85,105,.34)",
       chosen: "#fde68a", chosenEdge: "#d97706", chosenInk: "#3b1d02", kernel: "#eef4ff", leaf: "#ecfdf3", fresh: "#16a34a", select: "#2563eb",
       hit: "#db2777", missing: "#fee2e2", far: "#a9b8cc", missing_edge: "#dc2626", back_edge: "rgba(71,85,105,.2)", output: "#0284c7"};
}

function setTheme(theme) {
  root.dataset.theme = theme;
  readColours();
  changed();
}

const shownNode = n => n.stage <= state.stage && (!state.chosen || n.chosen);
const shownClass = c => c.nodes.some(shownNode);

/// Which rows of a class were already equal at the stage shown: row -> number of its group.
function groups(c) {
  if (c.groupsAt === state.stage) return c.groups;
  const parent = c.nodes.map((_, i) => i), find = i => parent[i] === i ? i : (parent[i] = find(parent[i]));
  for (const m of c.merges) if (m[2] <= state.stage) parent[find(m[1])] = find(m[0]);
  const numbers = new Map();
  c.groups = c.nodes.map((n, i) => {
    if (n.stage > state.stage) return -1;
    const at = find(i);
    if (!numbers.has(at)) numbers.set(at, numbers.size);
    return numbers.get(at);
  });
  c.groupCount = numbers.size;
  c.groupsAt = state.stage;
  return c.groups;
}

// --- drawing ----------------------------------------------------------------------------------------------------
const canvas = $("view"), context = canvas.getContext("2d"), map = $("map"), mapContext = map.getContext("2d");
const groupColours = ["#0ea5e9", "#f97316", "#8b5cf6", "#10b981", "#ef4444", "#eab308", "#ec4899", "#14b8a6"];
let pending = false, mapDirty = true;
const X = (x, w = 0) => state.mirror ? WIDTH - x - w : x;

function changed() {
  mapDirty = true;
  redraw();
}
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

function resize() {
  const scale = window.devicePixelRatio || 1;
  for (const c of [canvas, map]) {
    c.width = Math.max(1, Math.round(c.clientWidth * scale));
    c.height = Math.max(1, Math.round(c.clientHeight * scale));
  }
  changed();
}

/// What the lines of the picture consist of at this stage: each piece once, since long lines to one class share theirs.
/// kind 0: plain, 1: of what was chosen, 2: leading back to the left.
const lines = {key: "", pieces: [], ends: []};
function pieces() {
  const key = state.stage + "/" + state.chosen;
  if (lines.key === key) return lines;
  const known = new Map(), ends = new Map();
  for (const c of classes)
    for (const n of c.nodes) {
      if (!shownNode(n)) continue;
      n.paths.forEach((p, k) => {
        const target = byClassId.get(n.operands[k]);
        if (!target || !shownClass(target)) return;
        const kind = n.chosen ? 1 : n.backward[k] ? 2 : 0;
        for (let i = 2; i < p.length; i += 2) {
          const id = p[i - 2] + "," + p[i - 1] + "," + p[i] + "," + p[i + 1], piece = known.get(id);
          if (!piece) known.set(id, {x0: p[i - 2], y0: p[i - 1], x1: p[i], y1: p[i + 1], kind});
          else if (kind === 1) piece.kind = 1;
        }
        const end = ends.get(target);
        if (!end || kind === 1) ends.set(target, {x: p[p.length - 2], y: p[p.length - 1], kind});
      });
    }
  lines.key = key;
  lines.pieces = [...known.values()];
  lines.ends = [...ends.values()];
  return lines;
}

function trace(ctx, x0, y0, x1, y1, backward, straight) {
  ctx.moveTo(X(x0), y0);
  if (straight || (y0 === y1 && !backward)) { ctx.lineTo(X(x1), y1); return; }
  const bend = (state.mirror ? -1 : 1) * (backward ? 50 : Math.max(12, Math.abs(x1 - x0) / 2));
  ctx.bezierCurveTo(X(x0) + bend, y0, X(x1) - bend, y1, X(x1), y1);
}

function arrow(ctx, x, y, size) {
  const d = state.mirror ? size : -size;
  ctx.moveTo(X(x), y);
  ctx.lineTo(X(x) + d, y - size / 2);
  ctx.lineTo(X(x) + d, y + size / 2);
}

/// Strokes are made of few lines each: one path of thousands is slow to fill.
function stroke(ctx, list, colour, width, straight) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  for (let i = 0; i < list.length; i += 100) {
    ctx.beginPath();
    for (const p of list.slice(i, i + 100)) trace(ctx, p.x0, p.y0, p.x1, p.y1, p.kind === 2, straight);
    ctx.stroke();
  }
}

function drawEdges(ctx, box, small) {
  const {pieces: all, ends} = pieces(), kinds = [[], [], []];
  const inside = p => {
    const a = X(p.x0), b = X(p.x1);
    return Math.max(a, b) + 60 >= box.left && Math.min(a, b) - 60 <= box.right && Math.max(p.y0, p.y1) >= box.top && Math.min(p.y0, p.y1) <= box.bottom;
  };
  for (const p of all) if (inside(p)) kinds[p.kind].push(p);
  const wide = small ? Math.min(4, 0.6 / state.view.s) : 1;
  if (state.view.s > 0.15) stroke(ctx, kinds[2], colours.back_edge, wide, small);
  stroke(ctx, kinds[0], colours.edge, wide, small);
  stroke(ctx, kinds[1], colours.chosenEdge, 2 * wide, small);
  if (!small)
    for (const kind of [0, 1]) {
      ctx.beginPath();
      for (const e of ends) if ((e.kind === 1) === (kind === 1) && X(e.x) > box.left && X(e.x) < box.right) arrow(ctx, e.x, e.y, 7);
      ctx.fillStyle = kind ? colours.chosenEdge : colours.edge;
      ctx.fill();
    }
  drawTouched(ctx, small, wide);
}

/// The lines of what is selected.
function drawTouched(ctx, small, wide) {
  const nodes = state.node ? [state.node] : state.class ? [...state.class.nodes, ...state.class.users] : [];
  const list = [];
  for (const n of new Set(nodes)) {
    if (!shownNode(n)) continue;
    n.paths.forEach((p, k) => {
      const target = byClassId.get(n.operands[k]);
      if (!target || !shownClass(target) || (n.of !== state.class && target !== state.class)) return;
      for (let i = 2; i < p.length; i += 2) list.push({x0: p[i - 2], y0: p[i - 1], x1: p[i], y1: p[i + 1], kind: n.backward[k] ? 2 : 0});
    });
  }
  stroke(ctx, list, colours.select, 2.4 * wide, small);
}

function rowColour(n) {
  return n.chosen ? colours.chosen : n.kind === "kernel" ? colours.kernel : n.kind === "leaf" ? colours.leaf : colours.box;
}

/// Rows stand in the order in which they were made: a box grows with the iterations.
function heightNow(c) {
  if (state.chosen || state.stage === lastStage) return c.h;
  let rows = 0;
  while (rows < c.nodes.length && c.nodes[rows].stage <= state.stage) ++rows;
  return HEADER + ROW * rows;
}

/// Far away: no text, but colours that can be told apart.
function drawFar(ctx, c) {
  const x = X(c.x, c.w), h = heightNow(c), hit = state.query && c.nodes.some(n => state.found.has(n));
  ctx.globalAlpha = state.query && !hit ? 0.35 : 1;
  ctx.fillStyle = colours.far;
  ctx.fillRect(x, c.y, c.w, h);
  c.nodes.forEach((n, i) => {
    if (!shownNode(n) || !n.chosen) return;
    ctx.fillStyle = colours.chosenEdge;
    ctx.fillRect(x, c.y + HEADER + i * ROW, c.w, ROW);
  });
  const width = 2 / state.view.s;
  if (c.output) outline(ctx, x, c.y, c.w, h, colours.output, width);
  if (hit) outline(ctx, x, c.y, c.w, h, colours.hit, width);
  if (c === state.class) outline(ctx, x, c.y, c.w, h, colours.select, 1.5 * width);
  ctx.globalAlpha = 1;
}

function drawBox(ctx, c, detail) {
  if (!detail) return drawFar(ctx, c);
  const x = X(c.x, c.w), h = heightNow(c), hits = state.query ? state.found : null;
  const faded = hits && !c.nodes.some(n => hits.has(n));
  ctx.globalAlpha = faded ? 0.35 : 1;
  ctx.fillStyle = colours.box;
  ctx.fillRect(x, c.y, c.w, h);
  ctx.fillStyle = colours.head;
  ctx.fillRect(x, c.y, c.w, HEADER);
  const of = groups(c), several = c.groupCount > 1;
  c.nodes.forEach((n, i) => {
    const y = c.y + HEADER + i * ROW;
    if (!shownNode(n)) return;
    ctx.fillStyle = rowColour(n);
    ctx.fillRect(x, y, c.w, ROW);
    if (n.stage === state.stage && state.stage > 0 && state.stage < lastStage) {
      ctx.fillStyle = colours.fresh;
      ctx.fillRect(x + c.w - 4, y + 1, 4, ROW - 2);
    }
    if (several) {
      ctx.fillStyle = groupColours[of[i] % groupColours.length];
      ctx.fillRect(x, y + 1, 5, ROW - 2);
    }
    drawRow(ctx, n, x, y, c.w);
    for (const p of n.paths) {  // an operand that is not shown
      if (p.length) continue;
      ctx.fillStyle = colours.missing_edge;
      ctx.fillRect(state.mirror ? x - 9 : x + c.w + 1, y + ROW / 2 - 1, 3, 2);
      ctx.fillRect(state.mirror ? x - 4 : x + c.w + 6, y + ROW / 2 - 1, 3, 2);
    }
    if (hits && hits.has(n)) outline(ctx, x + 1, y + 1, c.w - 2, ROW - 2, colours.hit, n === state.hits[state.hit] ? 3 : 1.5);
  });
  if (c.hidden && h === c.h) {
    ctx.fillStyle = colours.missing;
    ctx.fillRect(x, c.y + c.h - ROW, c.w, ROW);
    ctx.fillStyle = colours.soft;
    ctx.fillText("+" + c.hidden + " more", x + 9, c.y + c.h - 5.5);
  }
  ctx.fillStyle = colours.soft;
  ctx.fillText(c.head, x + 6, c.y + HEADER - 6, c.w - 12);
  outline(ctx, x, c.y, c.w, h, c.output ? colours.output : colours.line, c.output ? 2 : 1);
  if (c === state.class) outline(ctx, x - 2, c.y - 2, c.w + 4, h + 4, colours.select, 2.5);
  if (state.node && state.node.of === c) {
    const y = c.y + HEADER + state.node.row * ROW;
    outline(ctx, x, y, c.w, ROW, colours.select, 2.5);
  }
  ctx.globalAlpha = 1;
}

function drawRow(ctx, n, x, y, w) {
  ctx.fillStyle = n.chosen ? colours.chosenInk : colours.ink;
  const cost = n.cost !== null && n.cost > 0 ? time(n.cost) : "";
  const room = w - 18 - (cost ? cost.length * 6.7 + 8 : 0);
  ctx.fillText(n.short, x + 9, y + ROW - 5.5, room);
  if (!cost) return;
  ctx.fillStyle = n.chosen ? colours.chosenInk : colours.soft;
  ctx.textAlign = "right";
  ctx.fillText(cost, x + w - 7, y + ROW - 5.5);
  ctx.textAlign = "left";
}

function outline(ctx, x, y, w, h, colour, width) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.strokeRect(x, y, w, h);
}

function draw() {
  const scale = canvas.width / Math.max(1, canvas.clientWidth), v = state.view;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = colours.back;
  context.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  context.setTransform(scale * v.s, 0, 0, scale * v.s, scale * v.x, scale * v.y);
  context.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
  const box = {left: -v.x / v.s, top: -v.y / v.s, right: (canvas.clientWidth - v.x) / v.s, bottom: (canvas.clientHeight - v.y) / v.s};
  const detail = v.s > 0.33;
  drawEdges(context, box, !detail);
  for (const c of classes) {
    const x = X(c.x, c.w);
    if (x > box.right || x + c.w < box.left || c.y > box.bottom || c.y + c.h < box.top || !shownClass(c)) continue;
    drawBox(context, c, detail);
  }
  drawMap(box);
}

function drawMap(box) {
  const scale = map.width / Math.max(1, map.clientWidth), w = map.clientWidth, h = map.clientHeight;
  const s = mapScale();
  if (mapDirty || !map.image) {
    map.image = document.createElement("canvas");
    map.image.width = map.width;
    map.image.height = map.height;
    const overview = map.image.getContext("2d");
    overview.setTransform(scale, 0, 0, scale, 0, 0);
    for (const c of classes) {
      if (!shownClass(c)) continue;
      overview.fillStyle = c.nodes.some(n => n.chosen) ? colours.chosenEdge : colours.line;
      overview.fillRect(s.x + X(c.x, c.w) * s.sx, s.y + c.y * s.sy, Math.max(1, c.w * s.sx), Math.max(1, c.h * s.sy));
    }
    mapDirty = false;
  }
  mapContext.setTransform(1, 0, 0, 1, 0, 0);
  mapContext.clearRect(0, 0, map.width, map.height);
  mapContext.drawImage(map.image, 0, 0);
  mapContext.setTransform(scale, 0, 0, scale, 0, 0);
  const left = Math.max(0, s.x + box.left * s.sx), top = Math.max(0, s.y + box.top * s.sy);
  const right = Math.min(w, s.x + box.right * s.sx), bottom = Math.min(h, s.y + box.bottom * s.sy);
  outline(mapContext, left + 0.5, top + 0.5, Math.max(3, right - left - 1), Math.max(3, bottom - top - 1), colours.select, 1.5);
}
function mapScale() {  // stretched: long networks would be a line
  const w = map.clientWidth - 8, h = map.clientHeight - 8;
  return {x: 4, y: 4, sx: w / Math.max(1, WIDTH), sy: Math.min(h / Math.max(1, HEIGHT), 12 * w / Math.max(1, WIDTH))};
}

// --- moving -----------------------------------------------------------------------------------------------------
const room = () => Math.max(100, canvas.clientWidth - $("panel").offsetWidth);

function zoom(factor, x = room() / 2, y = canvas.clientHeight / 2) {
  const v = state.view, s = Math.min(4, Math.max(0.005, v.s * factor));
  v.x = x - (x - v.x) * s / v.s;
  v.y = y - (y - v.y) * s / v.s;
  v.s = s;
  redraw();
}
function fit() {
  const s = Math.min(1.2, (room() - 40) / WIDTH, (canvas.clientHeight - 40) / HEIGHT);
  state.view = {s, x: (room() - WIDTH * s) / 2, y: (canvas.clientHeight - HEIGHT * s) / 2};
  redraw();
}
function centre(c, row = 0, s = Math.max(state.view.s, 0.8)) {
  state.view = {s, x: room() / 2 - (X(c.x, c.w) + c.w / 2) * s, y: canvas.clientHeight / 2 - (c.y + HEADER + row * ROW) * s};
  redraw();
}
function start() {  // all of it where that can be read, else the outputs
  fit();
  if (state.view.s >= 0.4 || !classes.length) return;
  const c = classes[0], s = 0.75;
  state.view = {s, x: state.mirror ? room() - 30 - (X(c.x, c.w) + c.w) * s : 30 - X(c.x) * s, y: canvas.clientHeight / 2 - (c.y + c.h / 2) * s};
  redraw();
}
function reveal(n) {
  const v = state.view, c = n.of, x = X(c.x, c.w) * v.s + v.x, y = (c.y + HEADER + n.row * ROW) * v.s + v.y;
  if (v.s < 0.4 || x < 0 || x + c.w * v.s > room() || y < 10 || y > canvas.clientHeight - 30) centre(c, n.row);
}

// --- selecting --------------------------------------------------------------------------------------------------
function select(c, n, show) {
  state.class = c;
  state.node = n;
  if (n && n.stage > state.stage) setStage(n.stage);
  if (n && !n.chosen && state.chosen) toggleChosen(false);
  if (show && n) reveal(n);
  if (show && c && !n) centre(c);
  describe();
  remember();
  redraw();
}

function at(px, py) {
  const v = state.view, x = (px - v.x) / v.s, y = (py - v.y) / v.s;
  for (let i = classes.length; i-- > 0;) {
    const c = classes[i], left = X(c.x, c.w);
    if (x < left || x > left + c.w || y < c.y || y > c.y + heightNow(c) || !shownClass(c)) continue;
    const row = Math.floor((y - c.y - HEADER) / ROW), n = row >= 0 ? c.nodes[row] : null;
    return {c, n: n && shownNode(n) ? n : null};
  }
  return null;
}

// --- the panel: everything is set as text, so no name is ever markup ---------------------------------------------
function element(tag, text, attributes = {}) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  for (const [k, v] of Object.entries(attributes)) e[k] = v;
  return e;
}
function section(panel, title, ...parts) {
  const some = parts.flat().filter(Boolean);
  if (!some.length) return;
  panel.append(element("h3", title), ...some);
}
function link(text, go) {
  const a = element("a", text, {tabIndex: 0, role: "button"});
  a.onclick = go;
  a.onkeydown = e => { if (e.key === "Enter") go(); };
  return a;
}
function line(...parts) {
  const p = element("p");
  p.append(...parts);
  return p;
}
const className = c => c.names.length ? c.names[0] : "c" + c.id;
const ruleText = r => data.rules[r][0] + (data.rules[r][1] ? "  (" + data.rules[r][1] + ")" : "");
const more = (list, make, most = 40) => {
  const out = list.slice(0, most).map(make);
  if (list.length > most) out.push(line("+" + (list.length - most) + " more"));
  return out;
};
const nodeLine = n => line(link(n.label, () => select(n.of, n, true)), " in ", link(className(n.of), () => select(n.of, null, true)));

function describe() {
  const panel = $("panel");
  panel.textContent = "";
  if (state.node) describeNode(panel, state.node);
  if (state.class) describeClass(panel, state.class, !state.node);
  if (!state.class) describeAll(panel);
  panel.scrollTop = 0;
}

function describeNode(panel, n) {
  panel.append(element("h2", n.label));
  const facts = line(n.cost === null ? "cannot run as it is: a kernel must compute it" : "costs " + time(n.cost));
  if (n.chosen) facts.append(" ", element("span", "chosen", {className: "chosen"}));
  panel.append(facts);
  if (n.computes) section(panel, "computes", element("p", n.computes));
  if (data.stages.length > 1) section(panel, "made by", element("p", ruleText(n.rule)), line("at ", link(data.stages[n.stage].name, () => setStage(n.stage))));
  if (n.text !== n.label) section(panel, "in full", element("code", n.text));
  const operands = element("ol", undefined, {start: 0});
  n.operands.forEach(id => {
    const li = element("li"), c = byClassId.get(id);
    li.append(c ? link(className(c) + "  " + c.facts, () => select(c, null, true)) : "c" + id + " (not shown)");
    operands.append(li);
  });
  if (n.operands.length) section(panel, "operands", operands);
}

function describeClass(panel, c, alone) {
  if (alone) panel.append(element("h2", c.head));
  section(panel, alone ? "value" : "class", line("c" + c.id + "  ", element("code", c.facts)), c.names.length ? line("in the model: " + c.names.join(", ")) : null,
          c.output ? element("p", "an output") : null);
  if (alone) section(panel, c.nodes.length + c.hidden + " equal forms", more(c.nodes, n => {
    const p = line(link(n.label, () => select(c, n, true)), " ", element("span", n.cost === null ? "" : time(n.cost), {className: "soft"}));
    if (n.chosen) p.append(" ", element("span", "chosen", {className: "chosen"}));
    return p;
  }), c.hidden ? line("+" + c.hidden + " not shown") : null);
  section(panel, "became one by", more(c.merges, m => line(c.nodes[m[0]].label + " = " + c.nodes[m[1]].label + "  ", element("span", ruleText(m[3]) + ", " + data.stages[m[2]].name, {className: "soft"}))));
  section(panel, "used by", more(c.users, nodeLine));
}

function describeAll(panel) {
  panel.append(element("h2", data.title));
  const count = classes.reduce((sum, c) => sum + c.nodes.length, 0), hidden = classes.reduce((sum, c) => sum + c.hidden, 0);
  panel.append(line(data.kind === "egraph" ? count + " e-nodes in " + classes.length + " classes" : count + " nodes"));
  if (hidden || data.hiddenClasses) panel.append(line("not shown: " + [hidden ? hidden + " nodes of these classes" : "", data.hiddenClasses ? data.hiddenClasses + " classes" : ""].filter(Boolean).join(", and ")));
  if (data.kind === "egraph") {
    panel.append(line("chosen: " + time(data.cost) + (data.proven ? ", proven to be the cheapest" : ", nothing is below " + time(data.lowerBound))));
    if (data.rolled) panel.append(line("equal blocks were searched as a few: " + data.rolled));
    section(panel, "how it grew", more(data.stages, (s, i) => line(link(s.name, () => setStage(i)), element("span", "  " + s.nodes + " nodes, " + s.classes + " classes", {className: "soft"})), 60));
    const made = new Map();
    for (const c of classes) for (const n of c.nodes) made.set(n.rule, (made.get(n.rule) || 0) + 1);
    const ranked = [...made].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    section(panel, "who made the nodes", more(ranked, ([rule, n]) => line(link(data.rules[rule][0], () => search(data.rules[rule][0])), element("span", "  " + n, {className: "soft"})), 25));
    section(panel, "how to read it", line("A box holds equal forms of one value; a line leads from a form to what it needs. Amber was chosen. Coloured bars on the left: forms that were not yet known to be equal at this iteration; green on the right: new in it. Two red dots: an operand that is not shown."));
  }
}

// --- search, stage, switches --------------------------------------------------------------------------------------
function search(query, go = true) {
  state.query = query.trim().toLowerCase();
  $("search").value = query;
  state.hits = [];
  if (state.query)
    for (const c of classes) {  // what is true of a whole class is one hit
      const hits = c.nodes.filter(n => n.find.includes(state.query));
      state.hits.push(...(hits.length || !c.find.includes(state.query) ? hits : [c.nodes.find(n => n.chosen) || c.nodes[0]]));
    }
  state.found = new Set(state.hits);
  state.hit = -1;
  if (go && state.hits.length) step(1);
  showHits();
  remember();
  redraw();
}
function step(by) {
  const count = state.hits.length;
  if (!count) return;
  state.hit = (state.hit + by + count) % count;
  const n = state.hits[state.hit];
  select(n.of, n, true);
  showHits();
}
function showHits() {
  $("hits").textContent = !state.query ? "" : state.hits.length ? (state.hit + 1) + " of " + state.hits.length : "none";
}
function setStage(stage) {
  state.stage = Math.min(lastStage, Math.max(0, stage));
  $("stage").value = state.stage;
  const s = data.stages[state.stage];
  $("stage-name").textContent = s.name + ": " + s.nodes + " nodes, " + s.classes + " classes";
  remember();
  changed();
}
function toggleChosen(on) {
  state.chosen = on;
  $("extraction").setAttribute("aria-pressed", on);
  remember();
  changed();
}
function toggleMirror(on) {
  const middle = (room() / 2 - state.view.x) / state.view.s;
  state.mirror = on;
  state.view.x = room() / 2 - (WIDTH - middle) * state.view.s;
  $("mirror").setAttribute("aria-pressed", on);
  remember();
  changed();
}
function toggleKeys() {
  $("keys").hidden = !$("keys").hidden;
  $("help").setAttribute("aria-pressed", !$("keys").hidden);
}

// --- what the address says: #node=12&iteration=3&search=conv&theme=dark&chosen=1&mirror=1&zoom=0.5&class=7&fit=1 ----
let quiet = true;
function remember() {
  if (quiet) return;
  const p = new URLSearchParams();
  if (state.node) p.set("node", state.node.id);
  else if (state.class) p.set("class", state.class.id);
  if (state.stage !== lastStage) p.set("iteration", state.stage);
  if (state.query) p.set("search", state.query);
  if (state.chosen) p.set("chosen", 1);
  if (state.mirror) p.set("mirror", 1);
  if (root.dataset.asked) p.set("theme", root.dataset.theme);
  try { history.replaceState(null, "", "#" + p); } catch (e) { /* some browsers refuse for files */ }
}
function recall() {
  quiet = true;
  const p = new URLSearchParams(location.hash.slice(1));
  if (p.get("theme")) root.dataset.asked = 1;
  setTheme(p.get("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  state.mirror = p.get("mirror") === "1";
  $("mirror").setAttribute("aria-pressed", state.mirror);
  toggleChosen(p.get("chosen") === "1");
  setStage(p.has("iteration") ? Number(p.get("iteration")) || 0 : lastStage);
  start();
  search(p.get("search") || "", p.has("search") && !p.has("node"));
  const n = byNodeId.get(Number(p.get("node"))), c = byClassId.get(Number(p.get("class")));
  if (p.has("node") && n) { centre(n.of, n.row); select(n.of, n, true); }
  else if (p.has("class") && c) select(c, null, true);
  if (p.has("zoom")) zoom(Number(p.get("zoom")) / state.view.s || 1);
  if (p.has("fit")) fit();
  quiet = false;
  describe();
}

// --- input ----------------------------------------------------------------------------------------------------------
let drag = null;
canvas.addEventListener("pointerdown", e => {
  canvas.setPointerCapture(e.pointerId);
  drag = {x: e.clientX, y: e.clientY, moved: false};
});
canvas.addEventListener("pointermove", e => {
  if (!drag) {
    canvas.style.cursor = at(e.offsetX, e.offsetY) ? "pointer" : "";
    return;
  }
  const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  drag.moved = true;
  canvas.classList.add("dragging");
  state.view.x += dx;
  state.view.y += dy;
  drag.x = e.clientX;
  drag.y = e.clientY;
  redraw();
});
canvas.addEventListener("pointerup", e => {
  canvas.classList.remove("dragging");
  if (drag && !drag.moved) {
    const hit = at(e.offsetX, e.offsetY);
    select(hit ? hit.c : null, hit ? hit.n : null, false);
  }
  drag = null;
});
canvas.addEventListener("pointercancel", () => { drag = null; });
canvas.addEventListener("wheel", e => {
  e.preventDefault();
  const unit = e.deltaMode === 1 ? 16 : 1;
  if (e.shiftKey) { state.view.x -= (e.deltaY + e.deltaX) * unit; redraw(); }
  else zoom(Math.exp(-e.deltaY * unit * 0.0016), e.offsetX, e.offsetY);
}, {passive: false});
map.addEventListener("pointerdown", e => {
  const s = mapScale(), v = state.view;
  v.x = room() / 2 - (e.offsetX - s.x) / s.sx * v.s;
  v.y = canvas.clientHeight / 2 - (e.offsetY - s.y) / s.sy * v.s;
  redraw();
});
$("search").addEventListener("input", e => search(e.target.value, false));
$("search").addEventListener("keydown", e => {
  if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
  if (e.key === "Escape") { search("", false); canvas.focus(); }
  e.stopPropagation();
});
$("stage").max = lastStage;
$("stage").addEventListener("input", e => setStage(Number(e.target.value)));
$("stage-box").hidden = lastStage === 0;
if (lastStage === 0) $("stage-box").style.display = "none";
$("extraction").onclick = () => toggleChosen(!state.chosen);
if (data.kind !== "egraph") $("extraction").style.display = "none";
$("mirror").onclick = () => toggleMirror(!state.mirror);
$("fit").onclick = fit;
$("help").onclick = toggleKeys;
const flipTheme = () => { root.dataset.asked = 1; setTheme(root.dataset.theme === "dark" ? "light" : "dark"); remember(); };
$("theme").onclick = flipTheme;

/// Up and down go through the forms of a class, left and right to the nearest user or operand that is shown.
function walk(key) {
  const c = state.class, n = state.node;
  if (!c) return false;
  if (key === "ArrowUp" || key === "ArrowDown") {
    const rows = c.nodes.filter(shownNode), i = n ? rows.indexOf(n) : -1;
    const next = rows[key === "ArrowDown" ? Math.min(rows.length - 1, i + 1) : Math.max(0, i - 1)];
    if (next) select(c, next, true);
    return true;
  }
  const users = (key === "ArrowLeft") !== state.mirror;
  if (users) {
    const user = c.users.find(u => shownNode(u) && u.chosen) || c.users.find(shownNode);
    if (user) select(user.of, user, true);
  } else {
    const from = n || c.nodes.find(m => m.chosen) || c.nodes.find(shownNode);
    const target = from && from.operands.map(id => byClassId.get(id)).find(t => t && shownClass(t));
    if (target) select(target, target.nodes.find(m => shownNode(m) && m.chosen) || target.nodes.find(shownNode), true);
  }
  return true;
}

$("keys").textContent = ["/        search; Enter, Shift+Enter: next, previous", "n, p     next, previous hit",
  "[ ]      iteration before, after", "e        only what was chosen", "arrows   along the graph from what is selected, else pan",
  "+ -      zoom; f: all of it", "m        mirror: outputs right or left", "t        dark or light", "Esc      select nothing"].join("\n");
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === "INPUT") return;
  const pan = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[e.key];
  if (pan) {
    if (!walk(e.key)) { state.view.x += pan[0]; state.view.y += pan[1]; redraw(); }
  } else if (e.key === "/") $("search").focus();
  else if (e.key === "n") step(1);
  else if (e.key === "p") step(-1);
  else if (e.key === "[") setStage(state.stage - 1);
  else if (e.key === "]") setStage(state.stage + 1);
  else if (e.key === "e" && data.kind === "egraph") toggleChosen(!state.chosen);
  else if (e.key === "f" || e.key === "0") fit();
  else if (e.key === "+" || e.key === "=") zoom(1.25);
  else if (e.key === "-") zoom(0.8);
  else if (e.key === "m") toggleMirror(!state.mirror);
  else if (e.key === "t") flipTheme();
  else if (e.key === "?") toggleKeys();
  else if (e.key === "Escape") select(null, null, false);
  else return;
  e.preventDefault();
});

$("title").textContent = data.title;
addEventListener("resize", resize);
addEventListener("hashchange", recall);
resize();
recall();
canvas.focus({preventScroll: true});
})();
