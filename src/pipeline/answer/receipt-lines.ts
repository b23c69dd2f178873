// Keeps receipts of a stream apart from what an upstream sends: only the gateway writes them.

import { foldText } from '../../keyword/normalise.ts'

/** Letters of the comment's name `sidegate-audit`; readers may overlook everything between them. */
const NAME = 'sidegateaudit'

/** Longest line that may pass. Longer ones are not read; no client needs them. */
const MAXIMUM_LINE_UNITS = 16_384

/** Drops the lines that a reader could take for a receipt, in any spelling. */
export function withoutReceipts(lines: string): string {
  if (!lines.includes('\n')) return mayBeReceipt(lines) ? '' : lines
  return lines
    .split('\n')
    .filter((line) => !mayBeReceipt(line))
    .join('\n')
}

const mayBeReceipt = (line: string): boolean =>
  line.length >= NAME.length && (line.length > MAXIMUM_LINE_UNITS || lettersOf(line).includes(NAME))

const ASCII = /^[\0-\x7f]*$/

/** The letters a to z of a line, accents removed and look-alikes included. */
function lettersOf(line: string): string {
  // Some servers name each event, so most lines are short and plain.
  const folded = ASCII.test(line)
    ? line.toLowerCase()
    : String.fromCodePoint(...foldText(line)).normalize('NFKD')
  return folded.replaceAll(/[^a-z]/g, '')
}
