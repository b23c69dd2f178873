// ASCII as keywords see it, in tables: most text is nothing else, and needs no normaliser to be folded.

export const ASCII_END = 0x80

/** 1 where a character stands for itself; 0 for the controls that say nothing and are left out. */
export const PLAIN_ASCII = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  (code >= 0x20 && code !== 0x7f) || (code >= 0x09 && code <= 0x0d) ? 1 : 0,
)

/** Each character in lower case. */
export const LOWER_ASCII = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  code >= 0x41 && code <= 0x5a ? code + 0x20 : code,
)

export const isAsciiLetter = (codePoint: number): boolean =>
  (codePoint >= 0x61 && codePoint <= 0x7a) || (codePoint >= 0x41 && codePoint <= 0x5a)
