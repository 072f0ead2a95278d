// The table of all sentences: sorts, filters, and shows one page of rows at a time.
// Texts only ever become text nodes. Which characters are hidden, and what stands for them, the data say.
"use strict";
(() => {
  const byId = (identity) => document.getElementById(identity);
  const data = JSON.parse(byId("data").textContent);
  const LIMIT = data.limit;
  const body = byId("rows");
  const inputs = { text: byId("text"), test: byId("test"), system: byId("system"), finding: byId("finding") };
  const pageInput = byId("page");
  const headings = [...document.querySelectorAll("#table [data-key]")];
  const grouped = new Intl.NumberFormat("en");
  const missing = "–";
  const formats = {
    words: ["words", (value) => String(value)],
    ratio: ["ratio", (value) => value.toFixed(2)],
    chrf: ["chrF", (value) => value.toFixed(1)],
    score: ["model score", (value) => value.toFixed(3)],
    rare: ["rare", (value) => `${value}%`],
  };
  const columns = headings.map((heading) => heading.dataset.key).filter((key) => key in formats);

  // One entry for each row: the set that it belongs to, and its place in the set.
  const rows = [];
  const tests = [...new Set(data.sets.map((set) => set.test))];
  for (const test of tests) {
    const sets = data.sets.filter((set) => set.test === test);
    const longest = Math.max(...sets.map((set) => set.hypotheses.length));
    for (let place = 0; place < longest; place++) {
      for (const set of sets) if (place < set.hypotheses.length) rows.push({ set, place, folded: null });
    }
  }
  data.sets.forEach((set, index) => {
    set.number = index + 1;
    set.labels = new Map();
    for (const [name, places] of Object.entries(set.findings)) {
      for (const place of places) {
        if (!set.labels.has(place)) set.labels.set(place, []);
        set.labels.get(place).push(name);
      }
    }
  });

  const state = { key: "number", direction: 1, page: 0, order: rows, found: rows };
  const named = (name) => name.replaceAll("_", " ");
  const source = (row) => data.sources[row.set.sources][row.place];

  // --- Text ---------------------------------------------------------------------------------------------------------

  const hidden = Object.keys(data.marks).map((one) => `\\u{${one.codePointAt(0).toString(16)}}`).join("");
  const hiddenPattern = hidden ? new RegExp(`[${hidden}]`, "gu") : null;

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // Text with a mark in the place of each hidden character, which then does nothing.
  function visible(text) {
    if (!hiddenPattern) return [text];
    const nodes = [];
    let end = 0;
    for (const match of text.matchAll(hiddenPattern)) {
      const [style, shown, title] = data.marks[match[0]];
      const isolated = style === "zwnj" ? {} : { dir: "ltr" };
      nodes.push(text.slice(end, match.index));
      nodes.push(element(style === "zwnj" ? "span" : "bdi", { class: style, ...isolated, title }, shown));
      end = match.index + match[0].length;
    }
    return [...nodes, text.slice(end)];
  }

  const listed = (text) => (typeof text === "string" ? [text] : text);
  const headOf = (text) => listed(text.head ?? text);
  const whole = (text) => headOf(text).join("") + (text.rest ?? []).join("");

  // Of the pieces, every second one differs.
  function pieces(parts, tag) {
    return parts.flatMap((part, index) => (index % 2 ? [element(tag, {}, ...visible(part))] : visible(part)));
  }

  function side(label, text, tag, lang, dir) {
    const shown = element("div", { class: "text", lang, dir });
    if (headOf(text).join("")) shown.append(...pieces(headOf(text), tag));
    else shown.append(element("span", { class: "muted" }, "no text"));
    if (text.left) {
      const summary = element("summary", {}, `… ${grouped.format(text.left)} more characters`);
      shown.append(element("details", { class: "rest" }, summary, ...pieces(text.rest, tag)));
    }
    return element("div", { class: "side" }, element("span", { class: "label" }, label), shown);
  }

  // --- Rows ---------------------------------------------------------------------------------------------------------

  const identity = (row) => `s-${row.set.number}-${row.place + 1}`;

  function valueOf(row, key) {
    return key === "number" ? row.place : row.set[key]?.[row.place] ?? null;
  }

  function tableRow(row) {
    const { set, place } = row;
    const sides = [
      side("source", source(row), "ins", "en", "ltr"),
      side("reference", set.references[place], "del", "fa", "rtl"),
      ...(set.others?.[place] ?? []).map((text) => side("another", text, "del", "fa", "rtl")),
      side("translation", set.hypotheses[place], "ins", "fa", "rtl"),
    ];
    const labels = set.labels.get(place);
    if (labels) {
      const items = labels.map((name) => element("li", {}, named(name)));
      sides.push(element("ul", { class: "labels", "aria-label": "findings" }, ...items));
    }
    const cells = columns.map((key) => {
      const [label, format] = formats[key];
      const value = valueOf(row, key);
      const attributes = { role: "cell", class: "number", "data-label": label };
      return element("td", attributes, value === null ? missing : format(value));
    });
    const which = [set.test, set.system].flatMap((name) => [" ", element("bdi", { class: "which" }, ...visible(name))]);
    const link = element("a", { href: `#${identity(row)}` }, grouped.format(place + 1));
    return element(
      "tr",
      { role: "row", id: identity(row), tabindex: "-1" },
      element("th", { role: "rowheader", scope: "row" }, link, ...which),
      element("td", { role: "cell", class: "sides" }, ...sides),
      ...cells,
    );
  }

  function show() {
    const count = state.found.length;
    const pages = Math.max(Math.ceil(count / LIMIT), 1);
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const start = state.page * LIMIT;
    const shown = state.found.slice(start, start + LIMIT);
    body.replaceChildren(...shown.map(tableRow));
    const range = `${grouped.format(start + 1)}–${grouped.format(start + shown.length)}`;
    const all = count === rows.length ? "" : ` found, of ${grouped.format(rows.length)} in all`;
    byId("shown").textContent = count ? `Sentences ${range} of ${grouped.format(count)}${all}` : "No sentence is like this";
    pageInput.value = state.page + 1;
    pageInput.max = pages;
    byId("pages").textContent = `of ${grouped.format(pages)}`;
    for (const button of document.querySelectorAll("[data-go]")) {
      const backwards = ["first", "back"].includes(button.dataset.go);
      button.disabled = backwards ? state.page === 0 : state.page === pages - 1;
    }
  }

  // --- Sorting and filtering ----------------------------------------------------------------------------------------

  // Rows without a value come last, whichever way the others are sorted; equals stay in the order of the test sets.
  function sort(key, direction) {
    Object.assign(state, { key, direction });
    const values = new Map(rows.map((row) => [row, valueOf(row, key)]));
    const plain = key === "number" && direction === 1;
    state.order = plain ? rows : [...rows].sort((left, right) => {
      const [one, other] = [values.get(left), values.get(right)];
      if (one === null || other === null) return (one === null) - (other === null);
      return direction * (one - other);
    });
    for (const heading of headings) {
      const sorted = heading.dataset.key === key;
      heading.setAttribute("aria-sort", sorted ? (direction === 1 ? "ascending" : "descending") : "none");
    }
  }

  // A half-space is no hindrance to a search, nor are the Arabic forms of two Persian letters.
  function fold(text) {
    return text.toLowerCase().replaceAll("\u200c", "").replaceAll("ي", "ی").replaceAll("ك", "ک");
  }

  function folded(row) {
    if (row.folded === null) {
      const { set, place } = row;
      const texts = [source(row), set.references[place], set.hypotheses[place], ...(set.others?.[place] ?? [])];
      row.folded = fold(texts.map(whole).join("\n"));
    }
    return row.folded;
  }

  function filter() {
    const text = fold(inputs.text.value.trim());
    const { test, system, finding } = inputs;
    const places = new Map(data.sets.map((set) => [set, new Set(set.findings[finding.value])]));
    const wanted = new Set(data.sets.filter(
      (set) => (!test.value || set.test === test.value) && (!system.value || set.system === system.value),
    ));
    state.found = state.order.filter((row) => wanted.has(row.set)
      && (!finding.value || places.get(row.set).has(row.place))
      && (!text || folded(row).includes(text)));
    state.page = 0;
  }

  // --- Links to sentences and findings ------------------------------------------------------------------------------

  function follow() {
    const link = /^#(s|found)-(\d+)-(.+)$/.exec(location.hash);
    const set = link && data.sets[Number(link[2]) - 1];
    if (!set) return;
    const listed = { text: "", test: set.test, system: set.system, finding: link[1] === "found" ? link[3] : "" };
    const row = link[1] === "s" ? rows.find((one) => one.set === set && one.place === Number(link[3]) - 1) : null;
    if (link[1] === "s" && !row) return;
    if (!row || !state.found.includes(row)) {
      for (const [name, value] of Object.entries(listed)) inputs[name].value = value;
      filter();
    }
    if (row) state.page = Math.floor(state.found.indexOf(row) / LIMIT);
    show();
    const target = row ? byId(identity(row)) : byId("sentences");
    target.scrollIntoView();
    if (row) target.focus({ preventScroll: true });
  }

  // --- The controls -------------------------------------------------------------------------------------------------

  function fill(select, names, label) {
    for (const name of names) select.append(element("option", { value: name }, label(name)));
    select.parentElement.hidden = names.length < 2 && select !== inputs.finding || !names.length;
  }

  fill(inputs.test, tests, (name) => name);
  fill(inputs.system, [...new Set(data.sets.map((set) => set.system))], (name) => name);
  fill(inputs.finding, [...new Set(data.sets.flatMap((set) => Object.keys(set.findings)))], named);
  for (const input of Object.values(inputs)) input.addEventListener("input", () => { filter(); show(); });
  byId("reset").addEventListener("click", () => {
    for (const input of Object.values(inputs)) input.value = "";
    sort("number", 1);
    filter();
    show();
  });
  for (const heading of headings) {
    const button = element("button", { type: "button" }, heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const { key } = heading.dataset;
      sort(key, state.key === key ? -state.direction : 1);
      filter();
      show();
    });
  }
  document.querySelector(".pages").addEventListener("click", (event) => {
    const to = { first: 0, back: state.page - 1, on: state.page + 1, last: Infinity }[event.target.dataset.go];
    if (to === undefined) return;
    state.page = to;
    show();
  });
  pageInput.addEventListener("change", () => { state.page = (Number(pageInput.value) || 1) - 1; show(); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      inputs.text.focus();
    }
  });
  window.addEventListener("hashchange", follow);

  byId("tools").hidden = false;
  document.querySelector(".pages").hidden = false;
  show();
  follow();
  // What a search needs is made while nobody waits, so that the first letter that is typed is answered at once.
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(() => work({ timeRemaining: () => 10 }), 50));
  let made = 0;
  idle(function make(deadline) {
    do for (const end = Math.min(made + 200, rows.length); made < end; made++) folded(rows[made]);
    while (made < rows.length && deadline.timeRemaining() > 2);
    if (made < rows.length) idle(make);
  });
})();
