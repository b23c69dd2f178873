// What became of test cases, as people and machines read it.

import type { Mismatch, Verdict } from './judge.ts'
import { counted } from './remarks.ts'
import { junitReport } from './xml.ts'

export const VERDICT_FORMATS = ['pretty', 'tap', 'junit', 'json'] as const
export type VerdictFormat = (typeof VERDICT_FORMATS)[number]

/** Characters of a text that are shown around the place where two begin to differ. */
const SHOWN_BEFORE = 30
const SHOWN_AFTER = 90

/** The whole report; ends in a line break. */
export function formatVerdicts(verdicts: readonly Verdict[], format: VerdictFormat): string {
  switch (format) {
    case 'pretty':
      return pretty(verdicts)
    case 'tap':
      return tap(verdicts)
    case 'junit':
      return junitReport(
        'sidegate test',
        verdicts.map(({ test, mismatches }) => ({
          suite: test.file,
          name: test.name,
          failure: mismatches.length === 0 ? null : details(mismatches).join('\n'),
        })),
      )
    case 'json':
      return `${JSON.stringify(
        {
          total: verdicts.length,
          failed: failures(verdicts),
          tests: verdicts.map(({ test: { file, line, name }, mismatches }) => ({
            file,
            line,
            name,
            ok: mismatches.length === 0,
            mismatches,
          })),
        },
        null,
        2,
      )}\n`
  }
}

const failures = (verdicts: readonly Verdict[]): number =>
  verdicts.filter(({ mismatches }) => mismatches.length > 0).length

function pretty(verdicts: readonly Verdict[]): string {
  const lines = verdicts.flatMap(({ test, mismatches }) =>
    mismatches.length === 0
      ? []
      : [
          `FAIL ${test.file}:${test.line} ${oneLine(test.name)}`,
          ...details(mismatches).map((line) => `  ${line}`),
        ],
  )
  const failed = failures(verdicts)
  return `${[...lines, `${counted(verdicts.length, 'test')}: ${verdicts.length - failed} passed, ${failed} failed`].join('\n')}\n`
}

function tap(verdicts: readonly Verdict[]): string {
  const lines = verdicts.flatMap(({ test, mismatches }, index) => {
    const title = oneLine(`${index + 1} - ${test.file}: ${test.name}`).replace(/[\\#]/g, '\\$&')
    if (mismatches.length === 0) return [`ok ${title}`]
    return [`not ok ${title}`, ...details(mismatches).map((line) => `# ${line}`)]
  })
  return `${['TAP version 14', `1..${verdicts.length}`, ...lines].join('\n')}\n`
}

/** Expected and got under one another, and a mark where they part. */
function details(mismatches: readonly Mismatch[]): string[] {
  return mismatches.flatMap(({ what, expected, got }) => {
    let same = 0
    while (same < expected.length && expected[same] === got[same]) same++
    const from = Math.max(0, same - SHOWN_BEFORE)
    const shown = (text: string) => oneLine(text.slice(from, same + SHOWN_AFTER))
    const mark = ' '.repeat(oneLine(expected.slice(from, same)).length)
    return [`${what}:`, `  expected  ${shown(expected)}`, `  got       ${shown(got)}`, `            ${mark}^`]
  })
}

/** As a terminal may show it: what would steer it is one mark. */
const oneLine = (text: string): string =>
  text.replace(/\p{C}/gu, (character) => (character === '\n' ? '\\n' : '\uFFFD'))
