// ASCII as keywords see it, in tables: most text is nothing else, and needs no normaliser to be folded.

export const ASCII_END = 0x80

/** In place of a class: a character that does not stand for itself. */
export const NOT_PLAIN = -1

/** 1 where a character stands for itself; 0 for the controls that say nothing and are left out. */
export const PLAIN_ASCII = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  (code >= 0x20 && code !== 0x7f) || (code >= 0x09 && code <= 0x0d) ? 1 : 0,
)

/** Each character in lower case. */
export const LOWER_ASCII = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  code >= 0x41 && code <= 0x5a ? code + 0x20 : code,
)

/** The class of each ASCII character as it stands in a text, capitals included, or NOT_PLAIN. */
export const classesOfAscii = (classOf: (lower: number) => number): Int32Array =>
  Int32Array.from(LOWER_ASCII, (lower, code) => (PLAIN_ASCII[code] === 1 ? classOf(lower) : NOT_PLAIN))
