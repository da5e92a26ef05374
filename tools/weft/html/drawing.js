// The picture on the canvas, and the small map of it.
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
