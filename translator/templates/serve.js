// The page of the server: sends the text, and shows translations and attention.
// Texts become text nodes only, never HTML.
"use strict";
(() => {
  const byId = (identity) => document.getElementById(identity);
  const form = byId("form");
  const typed = byId("text");
  const [SOURCE, TARGET] = ["source", "target"].map((side) => form.dataset[side].split(" "));
  const results = byId("results");
  const limit = { characters: Number(form.dataset.characters), lines: Number(form.dataset.lines) };
  const grouped = new Intl.NumberFormat("en");
  const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });
  const SHARES_NAMED = 4;
  const LEAST_SHARE = 0.05; // smaller shares are hidden
  let asking = null; // aborts the current request

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // --- Asking -------------------------------------------------------------------------------------------------------

  const linesOf = (text) => text.split("\n");
  const charactersOf = (text) => linesOf(text).reduce((sum, line) => sum + [...line].length, 0);

  function showSize() {
    const characters = charactersOf(typed.value);
    byId("size").textContent = `${grouped.format(characters)} of ${grouped.format(limit.characters)} characters`;
    byId("size").classList.toggle("over", characters > limit.characters);
  }

  function complain(words) {
    byId("problem").textContent = words;
    byId("problem").hidden = !words;
  }

  function tooMuch(text) {
    const characters = charactersOf(text);
    const lines = linesOf(text).length;
    if (characters > limit.characters)
      return `The text has ${grouped.format(characters)} characters, but the limit is ${grouped.format(limit.characters)}. Send it in parts.`;
    if (lines > limit.lines) return `The text has ${lines} lines, but the limit is ${limit.lines}. Send it in parts.`;
    return "";
  }

  // The terms of the glossary: each line has a term, = or a tab, and its translation.
  function glossary(text) {
    const lines = text.split("\n").filter((line) => line.trim());
    const pairs = lines.map((line) => line.split(/\t|=/).map((cell) => cell.trim()));
    const wrong = pairs.findIndex((cells) => cells.length !== 2 || !cells.every(Boolean));
    if (wrong >= 0) throw new Error(`line ${wrong + 1} of the glossary has no term, = and translation.`);
    return Object.fromEntries(pairs);
  }

  async function ask(text, signal) {
    const body = { lines: linesOf(text.toWellFormed?.() ?? text), count: Number(byId("count").value) };
    if (form.dataset.attention === "yes") body.attention = true;
    if (byId("paragraphs").checked) body.paragraphs = true;
    body.glossary = glossary(byId("glossary")?.value ?? "");
    const answer = await fetch("api/translate", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.detail ?? `The server answered with status ${answer.status}.`);
    return said.lines;
  }

  async function translate() {
    asking?.abort();
    complain("");
    byId("status").textContent = "";
    if (!typed.value.trim()) {
      results.replaceChildren();
      return;
    }
    const words = tooMuch(typed.value);
    if (words) {
      complain(words);
      return;
    }
    const mine = (asking = new AbortController());
    const began = performance.now();
    byId("status").textContent = "Translating …";
    results.setAttribute("aria-busy", "true");
    try {
      const lines = await ask(typed.value, mine.signal);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      results.replaceChildren(...lines.filter((line) => line.source.trim()).map(lineOf));
      byId("status").textContent = `Translated in ${seconds} s.`;
    } catch (error) {
      if (mine.signal.aborted) return;
      byId("status").textContent = "";
      const unreachable = error instanceof TypeError;
      complain(unreachable ? "The server does not answer. Is it still running?" : sentence(error.message));
    } finally {
      if (asking === mine) {
        asking = null;
        results.removeAttribute("aria-busy");
      }
    }
  }

  const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

  // --- Showing ------------------------------------------------------------------------------------------------------

  // The words of a text as elements in their places, whatever their case; null where they are not spelled as in the text.
  function inPlace(text, words) {
    const nodes = [];
    const spans = [];
    let end = 0;
    for (const word of words) {
      const start = text.toLowerCase().indexOf(word.toLowerCase(), end);
      if (start < 0) return null;
      const span = element("span", { class: "word", tabindex: "-1" }, text.slice(start, start + word.length));
      nodes.push(text.slice(end, start), span);
      spans.push(span);
      end = start + word.length;
    }
    if (spans.length) spans[0].tabIndex = 0;
    return { nodes: [...nodes, text.slice(end)], spans };
  }

  function paragraph(text, words, lang, dir) {
    const placed = (words && (inPlace(text, words) ?? inPlace(words.join(" "), words))) ?? { nodes: [text], spans: [] };
    return { shown: element("p", { class: "text", lang, dir }, ...placed.nodes), spans: placed.spans };
  }

  function noteOf(translation) {
    const notes = [];
    if (translation.pieces > 1) notes.push(`translated in ${translation.pieces} parts`);
    if (!translation.finished) notes.push("stopped at its maximum length");
    return notes.join("; ");
  }

  function translationOf(translation, place) {
    const { shown, spans } = paragraph(translation.text, translation.alignment?.target, ...TARGET);
    if (!translation.text) shown.append(element("span", { class: "muted", lang: "en", dir: "ltr" }, "no text"));
    const item = element(
      "li",
      {},
      element("span", { class: "rank" }, String(place + 1)),
      shown,
      scoreOf(translation),
    );
    if (translation.text) item.append(copyButton(translation.text));
    const note = noteOf(translation);
    if (note) item.append(element("span", { class: "note" }, note));
    return { item, spans, weights: translation.alignment?.weights ?? [] };
  }

  // The confidence in three colours, or the score where the run has no confidence.
  function scoreOf(translation) {
    const { confidence, normalized_score: score } = translation;
    const sum = `log-probability ${translation.score ?? "−∞"} of ${translation.tokens} tokens`;
    if (confidence === undefined) {
      const shown = score === null ? "−∞" : score.toFixed(3).replace("-", "−");
      return element("span", { class: "score", title: `${sum}, over the length penalty` }, shown);
    }
    const step = ["low", "middle", "high"][Math.min(Math.floor(3 * confidence), 2)];
    const meaning = "probability that this translation is at least as good as the median of the validation text";
    return element("span", { class: `score ${step}`, title: `${meaning}; ${sum}` }, percent.format(confidence));
  }

  function copyButton(text) {
    const button = element("button", { type: "button", class: "copy", lang: "en", title: "Copy this translation" }, "Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    return button;
  }

  function lineOf(line) {
    const source = paragraph(line.source, line.translations[0].alignment?.source, ...SOURCE);
    const found = line.translations.map(translationOf);
    const caption = element("p", { class: "caption", "aria-live": "polite" });
    const list = element("ol", { class: "translations", "aria-label": "translations, best first", dir: TARGET[1] });
    list.append(...found.map((one) => one.item));
    const measure = line.translations.some((one) => "confidence" in one) ? "confidence" : "log-probability per length";
    const heading = element("p", { class: "heading" }, `best first, each with its ${measure}`);
    const whole = element("article", { class: "line" }, element("div", { class: "pair" }, source.shown, found.length > 1 ? element("div", {}, heading, list) : list), caption);
    if (source.spans.length) watch(whole, caption, source.spans, found);
    return whole;
  }

  // --- Where the model looked ---------------------------------------------------------------------------------------

  const isolated = (word, lang, dir) => element("bdi", { lang, dir }, word);

  function describe(caption, word, verb, shares) {
    const named = shares.sort((one, other) => other.share - one.share).slice(0, SHARES_NAMED);
    const rest = named.flatMap(({ shown, share }, place) => [place ? " · " : "", shown, ` ${percent.format(share)}`]);
    caption.replaceChildren(element("strong", {}, word), ` ${verb} `, ...(named.length ? rest : ["no word"]));
  }

  function watch(whole, caption, sources, found) {
    const marked = new Set();

    function mark(span, share) {
      span.classList.add("looked");
      span.style.setProperty("--share", String(share));
      marked.add(span);
    }

    function clear() {
      for (const span of marked) span.classList.remove("looked", "here");
      marked.clear();
      caption.replaceChildren();
    }

    function ofTarget(span, one, place) {
      const seen = (one.weights[place] ?? []).filter(([, share]) => share >= LEAST_SHARE);
      const shares = seen.map(([source, share]) => {
        mark(sources[source], share);
        return { shown: isolated(sources[source].textContent, ...SOURCE), share };
      });
      const elsewhere = 1 - shares.reduce((sum, { share }) => sum + share, 0);
      if (elsewhere >= 2 * LEAST_SHARE) shares.push({ shown: "the end and elsewhere", share: elsewhere });
      describe(caption, isolated(span.textContent, ...TARGET), "looked at", shares);
    }

    function ofSource(span, place) {
      const shares = [];
      found.forEach((one, rank) => {
        one.weights.forEach((weights, target) => {
          const share = weights.find(([source]) => source === place)?.[1];
          if (!(share >= LEAST_SHARE) || !one.spans[target]) return;
          mark(one.spans[target], share);
          if (rank === 0) shares.push({ shown: isolated(one.spans[target].textContent, ...TARGET), share });
        });
      });
      describe(caption, isolated(span.textContent, ...SOURCE), "was looked at by", shares);
    }

    function show(span) {
      clear();
      if (!span) return;
      const place = sources.indexOf(span);
      const one = found.find(({ spans }) => spans.includes(span));
      if (place >= 0) ofSource(span, place);
      else if (one) ofTarget(span, one, one.spans.indexOf(span));
      span.classList.add("here");
      marked.add(span);
    }

    const wordAt = (event) => event.target.closest?.(".word") ?? null;
    const focused = () => (whole.contains(document.activeElement) ? document.activeElement.closest(".word") : null);
    whole.addEventListener("pointerover", (event) => show(wordAt(event) ?? focused()));
    whole.addEventListener("pointerleave", () => show(focused()));
    whole.addEventListener("focusin", (event) => show(wordAt(event)));
    whole.addEventListener("focusout", () => show(null));
    whole.addEventListener("keydown", (event) => {
      const words = [sources, ...found.map(({ spans }) => spans)].find((spans) => spans.includes(event.target));
      const next = words?.[step(event.key, words, event.target)];
      if (!next) return;
      event.preventDefault();
      for (const span of words) span.tabIndex = span === next ? 0 : -1;
      next.focus();
    });
  }

  // The arrow keys go the way that the text is read.
  function step(key, words, word) {
    const forwards = getComputedStyle(word).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (key === "Home") return 0;
    if (key === "End") return words.length - 1;
    if (key !== "ArrowLeft" && key !== "ArrowRight") return -1;
    return words.indexOf(word) + (key === forwards ? 1 : -1);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    translate();
  });
  typed.addEventListener("input", showSize);
  typed.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  showSize();
})();
