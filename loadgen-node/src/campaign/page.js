"use strict";
const table = document.getElementById("table");
const body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];

// Cells without a value come last in either direction; numbers are compared as numbers.
function compare(one, other, direction) {
  if (one === null || other === null) return (one === null) - (other === null);
  const [first, second] = [Number(one), Number(other)];
  const isNumber = one.trim() !== "" && other.trim() !== "" && !Number.isNaN(first) && !Number.isNaN(second);
  return direction * (isNumber ? first - second : one.localeCompare(other));
}

heads.forEach((head, column) => {
  const button = head.querySelector("button");
  if (!button) return;
  button.addEventListener("click", () => {
    const isUp = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const value = (row) => row.cells[column].getAttribute("data-value");
    [...body.rows]
      .sort((one, other) => compare(value(one), value(other), isUp ? 1 : -1))
      .forEach((row) => body.appendChild(row));
  });
});

const filter = document.getElementById("filter");
const shown = document.getElementById("shown");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(" ").filter((word) => word !== "");
  let left = 0;
  for (const row of body.rows) {
    // A word fits where a word of a cell begins with it: "valid" is not "invalid".
    const cells = [...row.cells].map((cell) => " " + cell.textContent.toLowerCase());
    const fits = words.every((word) => cells.some((text) => text.includes(" " + word)));
    row.hidden = !fits;
    left += fits ? 1 : 0;
  }
  shown.textContent = words.length === 0 ? "" : left + " of " + body.rows.length;
});
