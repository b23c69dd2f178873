import t from 'tap'
import type { RuleSetDifference } from '../../src/rulecheck/difference.ts'
import { formatDifference } from '../../src/rulecheck/report.ts'

t.test('the name of a test cannot steer a terminal or begin a line of a log', async (t) => {
  const effect = { decision: 'allow', rules: [] } as const
  const difference: RuleSetDifference = {
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
    /^! a_test\.yaml:3 hi\\n::add-mask::x‹001B›\[31m‹2028›\| y: allow → block \(words\)$/m,
  )
  t.match(
    formatDifference(difference, 'markdown'),
    /^\| a&#95;test\.yaml:3 hi&#92;n::add-mask::x‹001B›&#91;31m‹2028›&#124; y \| allow \| block \(words\) \|$/m,
  )
})
