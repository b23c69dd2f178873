// Recognises path data of SVG (SVG 2 §9.3), in which numbers are barely separated.

/** Only commands and numbers. */
const PATH_CHARACTERS = /^[mlhvcsqtaz\d\s.,+-]*$/
/** A command directly before a number, or a minus before its point. */
const PATH_COMMAND = /[mlhvcsqtaz]-?[\d.]|-\.\d/

/** The attribute of an element, up to the number: `d="m45.8 `. */
const PATH_ATTRIBUTE = /\bd=\\?["'][mlhvcsqtaz\d\s.,+-]*$/

/**
 * Reports whether the text before a number is path data: `c.59-.52.81-1.23 0 1.06.44h6.79`.
 * @param window in lower case
 */
export const isPathData = (window: string): boolean =>
  (PATH_CHARACTERS.test(window) && PATH_COMMAND.test(window)) || PATH_ATTRIBUTE.test(window)
