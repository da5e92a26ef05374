// Moving to a place, selecting what is there, and the panel that describes it.
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
