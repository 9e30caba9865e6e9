// The front end of the notebook widgets (anywidget): a tree, a policy grid and a running solve.

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];
const CHART_SIZE = { width: 440, height: 200, left: 52, bottom: 34, margin: 10 };

/**
 * Create an element with properties and children.
 * @param {string} tag
 * @param {Record<string, any>} [properties] `style` is CSS text; functions are listeners
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const formatNumber = (value) =>
  Math.abs(value) >= 1e-3 || value === 0
    ? String(Number(value.toPrecision(3)))
    : value.toExponential(1);

/** A bar whose parts are the probabilities of actions. */
function policyBar(row, height = 14) {
  const label = row.actions
    .map((name, index) => `${name} ${row.probabilities[index].toFixed(3)}`)
    .join(", ");
  const parts = row.probabilities.map((probability, index) =>
    element("span", {
      style: `display:inline-block;height:${height}px;width:${100 * probability}%;background:${COLOURS[index % COLOURS.length]}`,
    }),
  );
  return element(
    "span",
    {
      role: "img",
      "aria-label": label,
      title: label,
      style: `display:inline-flex;width:100%;min-width:60px;height:${height}px;background:#8883`,
    },
    ...parts,
  );
}

/** The tree as nested lists; a click opens a node. */
function renderTree(data, container) {
  const children = new Map();
  data.nodes.forEach((node, index) => {
    if (index) children.set(node.parent, [...(children.get(node.parent) || []), index]);
  });
  const markInfoset = (infoset, marked) => {
    for (const label of container.querySelectorAll(`[data-infoset="${infoset}"]`)) {
      label.style.outline = marked && infoset >= 0 ? `2px solid ${COLOURS[1]}` : "";
    }
  };
  const describe = (index) => {
    const node = data.nodes[index];
    const who =
      node.player === -2 ? `utilities ${node.value.map(formatNumber).join(", ")}` : node.title;
    const chance = index ? ` ${formatNumber(node.probability)}` : "";
    const label = element(
      "span",
      {
        "data-infoset": node.infoset,
        title: `reach ${formatNumber(node.reach)}, values ${node.value.map(formatNumber).join(", ")}`,
        mouseenter: () => markInfoset(node.infoset, true),
        mouseleave: () => markInfoset(node.infoset, false),
      },
      element("strong", {}, node.name),
      `${chance}: ${who}`,
    );
    return label;
  };
  const build = (index, open) => {
    const below = children.get(index) || [];
    const hidden = data.nodes[index].num_children - below.length;
    if (!data.nodes[index].num_children) return element("li", {}, describe(index));
    const details = element(
      "details",
      open ? { open: "" } : {},
      element("summary", {}, describe(index)),
    );
    const fill = () => {
      if (details.querySelector("ul")) return;
      const list = element(
        "ul",
        { style: "margin:0" },
        ...below.map((child) => build(child, false)),
      );
      if (hidden > 0) list.append(element("li", {}, `… ${hidden} more`));
      details.append(list);
    };
    details.addEventListener("toggle", () => details.open && fill());
    if (open) fill();
    return element("li", {}, details);
  };
  container.replaceChildren(
    element("p", {}, `${data.spec}: ${data.num_nodes.toLocaleString("en")} nodes`),
    element("ul", { style: "margin:0;padding-left:1em" }, build(0, true)),
  );
}

/** The policy: a choice of table, the table, and the infoset of the chosen cell. */
function renderPolicy(data, container) {
  const detail = element("div", { "aria-live": "polite", style: "margin-top:0.5em" });
  const tableBox = element("div", { style: "overflow:auto;max-height:26em" });
  const showRow = (row) => {
    const cells = row.actions.map((name, index) =>
      element(
        "tr",
        {},
        element("th", { style: "text-align:left" }, name),
        element("td", {}, row.probabilities[index].toFixed(4)),
        element("td", {}, formatNumber(row.action_values[index])),
      ),
    );
    const head = ["action", "probability", "value"].map((name) => element("th", {}, name));
    detail.replaceChildren(
      element(
        "p",
        {},
        `player ${row.player} at ${row.key}: reach ${formatNumber(row.reach)}, value `,
        `${formatNumber(row.value)}, best-response gain ${formatNumber(row.gain)}`,
      ),
      element("table", {}, element("tr", {}, ...head), ...cells),
    );
  };
  const cellButton = (row, height) =>
    element(
      "button",
      {
        type: "button",
        style: "width:100%;padding:2px;border:0;background:none;cursor:pointer",
        "aria-label": `${row.key}, player ${row.player}`,
        click: () => showRow(row),
      },
      policyBar(row, height),
    );
  const showGrid = (grid) => {
    const head = element(
      "tr",
      {},
      element("th"),
      ...grid.columns.map((name) => element("th", {}, name)),
    );
    const lines = grid.cells.map((line, index) =>
      element(
        "tr",
        {},
        element("th", { style: "text-align:left" }, grid.rows[index]),
        ...line.map((cell) =>
          cell === null ? element("td") : element("td", {}, cellButton(data.rows[cell], 14)),
        ),
      ),
    );
    tableBox.replaceChildren(element("table", {}, head, ...lines));
  };
  const select = element(
    "select",
    { change: (event) => showGrid(data.grids[Number(event.target.value)]) },
    ...data.grids.map((grid, index) =>
      element(
        "option",
        { value: index },
        `player ${grid.player}${grid.panel ? `, ${grid.panel}` : ""}`,
      ),
    ),
  );
  const legend = data.actions.map((name, index) =>
    element(
      "span",
      { style: "margin-right:1em" },
      element("span", {
        style: `display:inline-block;width:0.8em;height:0.8em;margin-right:0.3em;background:${COLOURS[index % COLOURS.length]}`,
      }),
      name,
    ),
  );
  container.replaceChildren(
    element("p", {}, `${data.spec}: exploitability ${formatNumber(data.exploitability)}`),
    element("p", {}, element("label", {}, "table ", select), " ", ...legend),
    tableBox,
    detail,
  );
  if (data.grids.length) showGrid(data.grids[0]);
}

/** The curve of a running solve on log axes, its progress, and a button that stops it. */
function renderSolve(data, container, model) {
  const last = data.points.at(-1);
  const summary = last
    ? `iteration ${last[0].toLocaleString("en")}: exploitability ${formatNumber(last[1])}`
    : "starting …";
  const stop = element(
    "button",
    {
      type: "button",
      click: () => {
        model.set("stop_requested", true);
        model.save_changes();
      },
    },
    "Stop",
  );
  if (data.state !== "running") stop.setAttribute("disabled", "");
  container.replaceChildren(
    element(
      "p",
      {},
      element("strong", {}, `${data.spec}, ${data.algorithm}`),
      ` ${data.state}; ${summary} `,
      stop,
    ),
    element("progress", {
      max: data.iterations,
      value: data.done,
      "aria-label": "iterations",
      style: "width:440px",
    }),
    element("br"),
    curve(data.points),
  );
  if (data.error) container.append(element("p", { role: "alert" }, data.error));
}

/** SVG of the positive points on two log axes. */
function curve(points) {
  const { width, height, left, bottom, margin } = CHART_SIZE;
  const name = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(name, "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "exploitability by iteration");
  const add = (tag, attributes, text = "") => {
    const node = document.createElementNS(name, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    svg.append(node);
  };
  const logs = points
    .filter(([x, y]) => x > 0 && y > 0)
    .map(([x, y]) => [Math.log10(x), Math.log10(y)]);
  if (logs.length < 2) return svg;
  const right = Math.max(...logs.map(([x]) => x));
  const low = Math.floor(Math.min(...logs.map(([, y]) => y)));
  const high = Math.max(Math.ceil(Math.max(...logs.map(([, y]) => y))), low + 1);
  const across = (x) => left + (x / Math.max(right, 1e-9)) * (width - left - margin);
  const down = (y) => margin + ((high - y) / (high - low)) * (height - bottom - margin);
  const text = { fill: "currentColor", "font-size": 11 };
  for (let power = low; power <= high; power++) {
    add("line", {
      x1: left,
      x2: width - margin,
      y1: down(power),
      y2: down(power),
      stroke: "#8884",
    });
    add("text", { ...text, x: left - 6, y: down(power) + 4, "text-anchor": "end" }, `1e${power}`);
  }
  for (let power = 0; power <= right; power++) {
    add(
      "text",
      { ...text, x: across(power), y: height - 18, "text-anchor": "middle" },
      String(10 ** power),
    );
  }
  add("text", { ...text, x: width / 2, y: height - 3, "text-anchor": "middle" }, "iterations");
  add("polyline", {
    points: logs.map(([x, y]) => `${across(x).toFixed(1)},${down(y).toFixed(1)}`).join(" "),
    fill: "none",
    stroke: COLOURS[0],
    "stroke-width": 2,
  });
  return svg;
}

const RENDERERS = { tree: renderTree, policy: renderPolicy, solve: renderSolve };

/**
 * Draw the widget, and again whenever its data changes; the contract of anywidget.
 * @param {{ model: { get: (key: string) => any, set: (key: string, value: any) => void,
 *   save_changes: () => void, on: (event: string, listener: () => void) => void },
 *   el: HTMLElement }} context
 * @returns {void}
 */
function render({ model, el }) {
  const container = element("div", {
    class: "counterplay-widget",
    style: "font-variant-numeric:tabular-nums",
  });
  el.append(container);
  const draw = () => RENDERERS[model.get("kind")](model.get("data"), container, model);
  model.on("change:data", draw);
  draw();
}

export default { render };
