// What the page of `weft dot --html` knows: its data, and the state of the view. One script with the files that page.html names
// behind it.
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
