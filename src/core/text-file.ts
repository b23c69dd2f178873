// Reads text files of a bounded size, names them in problems, and says how to save one that is not
// UTF-8.

import { open, stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'

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

/** A text and its size, or what is wrong with the file. */
export type TextReading =
  | { readonly text: string; readonly bytes: number }
  | { readonly problem: string; readonly unread?: true }

/**
 * Reads at most the allowed size, even if the file grows meanwhile. Never rejects.
 * @param remedy what to do with a larger file
 */
export async function readTextFile(path: string, maxBytes: number, remedy: string): Promise<TextReading> {
  try {
    // Opening a pipe would wait for a writer.
    if (!(await stat(path)).isFile()) return { problem: 'is not a regular file' }
    const file = await open(path)
    try {
      const buffer = Buffer.alloc(maxBytes + 1)
      let length = 0
      for (let read = -1; read !== 0 && length < buffer.length; length += read) {
        read = (await file.read(buffer, length, buffer.length - length)).bytesRead
      }
      if (length > maxBytes) return { problem: `is larger than ${maxBytes} bytes; ${remedy}` }
      const decoded = decodeText(buffer.subarray(0, length))
      return 'problem' in decoded ? decoded : { text: decoded.text, bytes: length }
    } finally {
      await file.close()
    }
  } catch (error) {
    return { problem: cannotBeRead(error), unread: true }
  }
}

export const cannotBeRead = (error: unknown): string => `cannot be read (${reasonOf(error)})`

/** The code of a system error, or the message of another. */
export const reasonOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code ?? (error as Error).message

/** The name of a path in problems: relative to the working directory, unless it is outside. */
export function fileLabel(path: string): string {
  const near = relative(process.cwd(), resolve(path))
  return near === '' ? basename(path) : near.startsWith(`..${sep}`) || near === '..' ? path : join(near)
}
