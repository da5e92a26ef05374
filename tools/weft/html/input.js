// Search, the stage, switches, what the address says, pointer and keys; and the start.
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
