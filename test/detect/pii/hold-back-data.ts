// Ordinary texts without values, in which a stream could hold back too much. The benchmark prints what
// it holds back of them.

const rows = (row: (index: number) => string): string =>
  Array.from({ length: 500 }, (_, i) => row(i)).join('')
const hex = (index: number): string => ((index * 2_654_435_761) >>> 0).toString(16).padStart(8, '0')

/** Texts without values, and the most characters that may be held back of them. */
export const HOLD_BACK_TEXTS: readonly (readonly [name: string, text: string, most: number])[] = [
  ['counting', rows((i) => `${i} `), 64],
  ['numbered items', rows((i) => `item${i} `), 64],
  ['times', rows((i) => `${String(i % 24).padStart(2, '0')}:00 `), 64],
  ['decimals', rows((i) => `${i / 7} `), 64],
  ['hex dump', rows((i) => `${hex(i)} `), 64],
  ['CSV', rows((i) => `a${i},b,`), 64],
  ['log', rows((i) => `2026-11-10T10:15:${10 + (i % 50)}.123Z `), 64],
  ['code', rows((i) => `a${i}=function(b,c){return b+c};`), 64],
  ['Markdown table', rows((i) => `| ${i} | ${i * 3} `), 64],
  ['lines that may be groups of cards', rows((i) => `${4000 + i}\n`), 64],
  ['list of numbers that may be groups', rows((i) => `${4000 + i}, `), 64],
  ['CSV of such numbers', rows((i) => `a${i},${4000 + i},${6000 + i}\n`), 64],
  ['versions', rows((i) => `1.2.${i} or 1.3.${i} and `), 64],
  ['dashes', '-'.repeat(3000), 160],
  ['base64', Buffer.from(rows((i) => `${i * 7919}`)).toString('base64'), 160],
]
