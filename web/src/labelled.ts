/** Gives a picture one label that says what it shows, and its parts none: the figures stand in a table. */
export function labelled(picture: SVGSVGElement | HTMLElement, label: string): void {
  for (const part of picture.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  for (const svg of picture instanceof SVGSVGElement ? [picture] : picture.querySelectorAll("svg")) {
    // The swatches of a legend have no view box, and their words stand beside them.
    if (svg.hasAttribute("viewBox")) {
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", label);
    } else {
      svg.setAttribute("aria-hidden", "true");
    }
  }
}
