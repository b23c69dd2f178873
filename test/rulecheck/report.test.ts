import t from 'tap'
import type { Difference } from '../../src/rulecheck/difference.ts'
import { formatDifference } from '../../src/rulecheck/report.ts'

t.test('what a test is called steers neither a terminal nor whoever reads a log of lines', async (t) => {
  const effect = { decision: 'allow', rules: [] } as const
  const difference: Difference = {
    rules: [],
    exchanges: [
      {
        where: 'a_test.yaml:3 hi\n::add-mask::x\u001b[31m\u2028| y',
        old: effect,
        new: { decision: 'block', rules: ['words'] },
        textDiffers: false,
      },
    ],
    tried: 1,
  }
  t.match(
    formatDifference(difference, 'pretty'),
    /^! a_test\.yaml:3 hi ::add-mask::x \[31m \| y: allow → block \(words\)$/m,
  )
  t.match(
    formatDifference(difference, 'markdown'),
    /^\| a&#95;test\.yaml:3 hi ::add-mask::x &#91;31m &#124; y \| allow \| block \(words\) \|$/m,
  )
})
