// Okabe and Ito's colours, which colour-blind readers tell apart.
export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8a8a", "#b8a800"];
/** Between their two blues, so that it stands out on white and on black. */
export const DOT = "#2f8fd0";
