// Zoom into the positions of a chart: by buttons, by Ctrl and the wheel, by pinching, and by dragging what is magnified.
import { select } from "d3-selection";
import { type D3ZoomEvent, ZoomTransform, zoom, zoomIdentity } from "d3-zoom";

/** The part of the positions that is shown. */
export type Span = [from: number, to: number];

/** Where a picture has its positions, in pixels of its view box. */
export interface Across {
  left: number;
  right: number;
  width: number;
}

const STEP = 2;
/** Share of the picture by which a button moves it. */
const MOVE = 0.5;

/** A wheel without Ctrl and one finger scroll the page. */
function isMeant(event: Event): boolean {
  if (event instanceof WheelEvent) return event.ctrlKey;
  if ("touches" in event) return (event as TouchEvent).touches.length > 1;
  return event instanceof MouseEvent && event.button === 0 && event.type !== "dblclick";
}

/** A picture to zoom into. */
export interface Zoom {
  whole: Span;
  /** The greatest magnification. */
  most: number;
  across: Across;
  draw: (span: Span) => SVGSVGElement | HTMLElement;
  /** A span in words. */
  said: (span: Span) => string;
}

/** The picture, which is drawn again for each span, at most once a frame, and the buttons for it. */
export function zoomable({ whole, most, across, draw, said }: Zoom): { picture: HTMLElement; buttons: HTMLElement } {
  const picture = document.createElement("div");
  const length = whole[1] - whole[0];
  let transform = zoomIdentity;
  let frame = 0;

  /** Ends of the positions on the screen. */
  const edges = (): Span => {
    const drawn = picture.querySelector("svg[viewBox]")?.getBoundingClientRect() ?? picture.getBoundingClientRect();
    const left = drawn.left - picture.getBoundingClientRect().left;
    const scale = drawn.width / across.width;
    return [left + across.left * scale, left + across.right * scale];
  };
  const redraw = (): void => {
    frame = 0;
    const [left, right] = edges();
    const at = (x: number): number => whole[0] + (length * (transform.invertX(x) - left)) / (right - left);
    const span: Span = transform.k === 1 ? whole : [at(left), at(right)];
    picture.replaceChildren(draw(span));
    shown.textContent = said(span);
    for (const button of onlyZoomed) button.disabled = transform.k === 1;
  };

  const behaviour = zoom<HTMLElement, unknown>()
    .filter(isMeant)
    .scaleExtent([1, most])
    .extent(() => {
      const [left, right] = edges();
      return [
        [left, 0],
        [right, 1],
      ];
    })
    // Nothing beyond the whole is shown.
    .constrain((to) => {
      const [left, right] = edges();
      return new ZoomTransform(to.k, Math.min(left * (1 - to.k), Math.max(right * (1 - to.k), to.x)), 0);
    })
    .on("zoom", (event: D3ZoomEvent<HTMLElement, unknown>) => {
      transform = event.transform;
      picture.classList.toggle("magnified", transform.k > 1);
      frame ||= requestAnimationFrame(redraw);
    });
  const zoomed = select<HTMLElement, unknown>(picture).call(behaviour);
  const moved = (share: number): void => {
    const [left, right] = edges();
    behaviour.translateBy(zoomed, (share * (right - left)) / transform.k, 0);
  };

  const buttons = document.createElement("div");
  buttons.className = "zoom";
  const button = (text: string, pressed: () => void): HTMLButtonElement => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", pressed);
    buttons.append(made);
    return made;
  };
  button("Zoom in", () => behaviour.scaleBy(zoomed, STEP));
  const onlyZoomed = [
    button("Zoom out", () => behaviour.scaleBy(zoomed, 1 / STEP)),
    button("Earlier", () => moved(MOVE)),
    button("Later", () => moved(-MOVE)),
    button("Whole time", () => behaviour.transform(zoomed, zoomIdentity)),
  ];
  const shown = document.createElement("output");
  shown.textContent = said(whole);
  buttons.append(shown);
  picture.append(draw(whole));
  for (const made of onlyZoomed) made.disabled = true;
  return { picture, buttons };
}
