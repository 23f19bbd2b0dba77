// Boxes that scroll sideways can be reached, and scrolled, with the keyboard.
addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("article pre, article .table-wrapper")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
