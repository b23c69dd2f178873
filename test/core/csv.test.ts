// Lines of CSV: what RFC 4180 quotes, and what a spreadsheet would run.

import fc from 'fast-check'
import t from 'tap'
import { csvLine } from '../../src/core/csv.ts'
import { visible } from '../../src/core/hidden-characters.ts'

t.test('cells are quoted where they must be', async (t) => {
  for (const [cells, line] of [
    [['a', 1, null, 0.5], 'a,1,,0.5'],
    [['a,b', 'say "hi"', 'two\nlines'], '"a,b","say ""hi""","two\nlines"'],
    [['=1+1', '+1', '-1', '@a', '\ta'], "'=1+1,'+1,'-1,'@a,'\ta"],
    [['\ra', '=a,b'], `‹000D›a,"'=a,b"`],
    [[' =1', '\u00a0+1', '\ue000@a', '＝1', ' －1', '﹢1'], "' =1,'\u00a0+1,'\ue000@a,'＝1,' －1,'﹢1"],
    [['we\u200bb', 'a\u202eb', '\u200b@a'], 'we‹200B›b,a‹202E›b,‹200B›@a'],
    [[' a=1', '= '], " a=1,'= "],
    [[-1, 1e-9], '-1,1e-9'],
    [['', 'a=b'], ',a=b'],
  ] as const)
    t.equal(csvLine(cells), `${line}\r\n`)
})

/** Reads lines as RFC 4180 says. */
function readLines(text: string): string[][] {
  const lines: string[][] = []
  let cells: string[] = []
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy
  for (const [, quoted, plain = '', end] of text.matchAll(cell)) {
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    lines.push(cells)
    cells = []
  }
  return lines
}

t.test('any text is read back, and no cell begins like a formula', async () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (cells) => {
      const [read, ...rest] = readLines(csvLine(cells))
      if (rest.length > 0 || read?.length !== cells.length) return false
      return read.every((cell, index) => {
        const shown = visible(cells[index]!)
        return cell === `'${shown}` || (cell === shown && !/^[\t\r]|^\s*[=+\-@＝＋－＠]/.test(cell))
      })
    }),
  )
})
