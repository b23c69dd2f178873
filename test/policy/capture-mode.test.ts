import fc from 'fast-check'
import t from 'tap'
import { CAPTURE_MODES, combineCapture } from '../../src/policy/capture-mode.ts'

t.test('metadata wins over full, and without a word text is captured', async (t) => {
  t.equal(combineCapture(), 'full')
  t.equal(combineCapture(null, null), 'full')
  t.equal(combineCapture('full', 'metadata', null), 'metadata')
  const anySource = fc.constantFrom(null, ...CAPTURE_MODES)
  fc.assert(
    fc.property(fc.array(anySource), (sources) => {
      t.equal(combineCapture(...sources) === 'metadata', sources.includes('metadata'))
      t.equal(combineCapture(...sources.toReversed()), combineCapture(...sources))
    }),
  )
})
