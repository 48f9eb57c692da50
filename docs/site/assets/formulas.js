/*
 * The Markdown converter leaves the TeX of each formula in an element of class arithmatex, as \(...\) in a line or \[...\]
 * between lines; KaTeX draws it there.  TeX that KaTeX does not know raises an error, which look.py finds.
 */
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const tex = element.textContent.trim();
    katex.render(tex.slice(2, -2), element, {displayMode: tex.startsWith("\\["), strict: "error"});
  }
});
