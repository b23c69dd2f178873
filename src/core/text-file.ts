// Decodes the bytes of a text file, and says how to save one that is not UTF-8.

const UTF8 = new TextDecoder('utf-8', { fatal: true })
const SAVE = 'save it as UTF-8'

/** Returns the text without its byte order mark, or what is wrong with the file. */
export function decodeText(bytes: Uint8Array): { readonly text: string } | { readonly problem: string } {
  if (isUtf16(bytes)) return { problem: `is in UTF-16, not UTF-8; ${SAVE}` }
  try {
    return { text: UTF8.decode(bytes) }
  } catch {
    return { problem: `is not valid UTF-8; ${SAVE}` }
  }
}

/** By the byte order mark; without one, by a zero byte next to a first character in ASCII. */
function isUtf16([first, second]: Uint8Array): boolean {
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true
  return (first === 0) !== (second === 0) && second !== undefined
}
