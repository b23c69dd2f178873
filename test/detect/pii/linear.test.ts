// Counts the characters that detection reads, so that its work is linear on every way in which a
// text may reach it: whole, with invisible characters, in pieces.

import t from 'tap'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { type Path, pathsOf, UNITS } from '../../bench/pii-fuzz.ts'

const SHORT = 2_048
const LONG = 4 * SHORT
/** Four for the length; the rest is what differs at the ends of texts and pieces. */
const MAXIMUM_GROWTH = 5
/** Reads of a character by loops; patterns and copies do not count. */
const MAXIMUM_READS = 400

const fill = (unit: string, characters: number): string =>
  unit.repeat(Math.ceil(characters / unit.length)).slice(0, characters)

const stream = (pieces: readonly string[]): void => {
  const detector = new StreamDetector()
  for (const piece of pieces) detector.push(piece)
  detector.finish()
}

/** Characters that a function reads one by one. */
function readsOf(run: () => void): number {
  const read = String.prototype.charCodeAt
  let reads = 0
  String.prototype.charCodeAt = function (this: string, at: number) {
    reads++
    return read.call(this, at)
  }
  try {
    run()
  } finally {
    String.prototype.charCodeAt = read
  }
  return reads
}

const WAYS: readonly Path[] = [{ name: 'whole', run: detect }, ...pathsOf(detect, stream)]

for (const { name, run } of WAYS)
  t.test(`the work grows linearly with a text: ${name}`, async (t) => {
    for (const unit of UNITS) {
      const short = readsOf(() => run(fill(unit, SHORT)))
      const long = readsOf(() => run(fill(unit, LONG)))
      const label = JSON.stringify(unit)
      t.ok(long <= MAXIMUM_READS * LONG, `${label}: ${long / LONG} reads of a character`)
      if (short > SHORT) t.ok(long <= MAXIMUM_GROWTH * short, `${label}: ${long} after ${short}`)
    }
  })

for (const mark of ['-----BEGIN ', '\ufeff', '\u00ad'])
  t.test(`${JSON.stringify(mark)} costs little where no value follows`, async (t) => {
    for (const unit of ['a.', '+1 ', '1,2;', 'getUser2ById3 setItem4 ', 'abcdefgh', 'abc\n']) {
      const text = fill(unit, LONG)
      const plain = readsOf(() => detect(text + text))
      const marked = readsOf(() => detect(mark + text + mark + text))
      t.ok(marked <= 1.25 * plain + SHORT, `${JSON.stringify(unit)}: ${marked} after ${plain}`)
    }
  })
