// Filters and sorts the sentences of report.html, which are all in the page: without this script they are just not sorted.
"use strict";
(() => {
  const list = document.getElementById("rows");
  const rows = [...list.children];
  const place = new Map(rows.map((row, number) => [row, number]));
  const controls = ["text", "test", "mistake", "order"].map((id) => document.getElementById(id));
  const [text, test, mistake, order] = controls;
  const shown = document.getElementById("shown");
  // Variants of letters, half-spaces and vowel marks make no difference to a search.
  const fold = (s) => s.toLowerCase().replace(/[ىي]/g, "ی").replace(/ك/g, "ک").replace(/[\u200c\u064b-\u065f\u0670\u0640]/g, "");
  const texts = new Map();
  const content = (row) => {
    if (!texts.has(row)) texts.set(row, fold([...row.querySelectorAll(".text")].map((element) => element.textContent).join("\n")));
    return texts.get(row);
  };
  function update() {
    const pattern = fold(text.value.trim());
    let count = 0;
    for (const row of rows) {
      row.hidden = !(
        (!test.value || row.dataset.test === test.value) &&
        (!mistake.value || row.dataset.mistakes.split("|").includes(mistake.value)) &&
        (!pattern || content(row).includes(pattern))
      );
      count += !row.hidden;
    }
    const [key, sign] = order.value.split(" ");
    const value = (row) => (key ? Number(sign) * Number(row.dataset[key]) : 0);
    list.append(...[...rows].sort((a, b) => value(a) - value(b) || place.get(a) - place.get(b)));
    shown.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} sentences`;
  }
  function reset() {
    for (const control of controls) control.value = "";
    update();
  }
  // Shows the sentence that the address of the page names.
  function showLinked() {
    const row = location.hash.startsWith("#s-") && document.getElementById(location.hash.slice(1));
    if (!row) return;
    if (row.hidden) reset();
    row.scrollIntoView();
    row.focus();
  }
  for (const control of controls) control.addEventListener("input", update);
  document.getElementById("reset").addEventListener("click", reset);
  addEventListener("hashchange", showLinked);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      text.focus();
    }
  });
  document.getElementById("tools").hidden = false;
  reset();
  showLinked();
})();
