// The lines of a drawing, as SVG writes them (SVG 2 §9.3): numbers with as little between as can be.

/** Nothing but commands and numbers. */
const DRAWING = /^[mlhvcsqtaz\d\s.,+-]*$/
/** A command right before a number, or a minus before its dot. */
const DRAWN = /[mlhvcsqtaz]-?[\d.]|-\.\d/

/**
 * Whether the text before a number is a drawing: `c.59-.52.81-1.23 0 1.06.44h6.79`.
 * @param window small letters
 */
export const isPathData = (window: string): boolean => DRAWING.test(window) && DRAWN.test(window)
