// What expressions remember of the texts they have met is bounded, however many there were.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Prefilter } from '../../src/keyword/prefilter/prefilter.ts'
import { ExpressionAutomaton, type ThreadSet } from '../../src/keyword/regexp/automaton.ts'
import { ExpressionCursor } from '../../src/keyword/regexp/cursor.ts'
import { compileExpression, type Program } from '../../src/keyword/regexp/instructions.ts'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

/** An automaton that knows all its sets of threads without keeping them. */
class Watched extends ExpressionAutomaton {
  readonly #made: WeakRef<ThreadSet>[] = []

  constructor(expression: string) {
    super([compileExpression(expression) as Program])
  }

  override computeTransition(...args: Parameters<ExpressionAutomaton['computeTransition']>) {
    const step = super.computeTransition(...args)
    this.#made.push(new WeakRef(step.target))
    return step
  }

  /** Threads of all sets that somebody still keeps, and of all that were. */
  threads(): { kept: number; made: number } {
    gc()
    const sets = new Set(this.#made.map((made) => made.deref()))
    let kept = 0
    for (const set of sets) kept += set?.threads.length ?? 0
    return { kept, made: this.#made.length }
  }
}

/** Nearly every character of these leads to threads that nobody has met. */
const EXPRESSION = '(?s)a.{900}q'
const TEXTS = 60
/** What the automaton and the table before it may remember together. */
const MOST = 1_100_000

/** Random, and the same in each run. */
function* texts(): Generator<string> {
  let state = 1
  for (let n = 0; n < TEXTS; n++) {
    let text = ''
    for (let at = 0; at < 600; at++) {
      state = (state * 48_271) % 2_147_483_647
      text += 'abc'[state % 3]
    }
    yield text
  }
}

/** The next turn: until then what a weak reference was asked for is kept. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

t.test('by the table that is looked at first', async (t) => {
  const automaton = new Watched(EXPRESSION)
  const glance = new Prefilter(null, automaton)
  for (const text of texts()) glance.mayMatch(text)
  await nextTurn()
  const { kept, made } = automaton.threads()
  t.ok(made > 20_000, `${made} steps were worked out`)
  t.ok(kept < MOST, `${kept} threads are kept`)
  t.equal(glance.mayMatch('b'), false)
})

t.test('by whoever keeps a set from the beginning, as a stream does that waits', async (t) => {
  const automaton = new Watched(EXPRESSION)
  const first = automaton.begin()
  const streams = Array.from(texts(), (text) => ({ text, run: new ExpressionCursor(automaton) }))
  for (let at = 0; at < 600; at++) {
    for (const { text, run } of streams) run.take(text.charCodeAt(at), text.charCodeAt(at), at, () => {})
  }
  await nextTurn()
  const { kept, made } = automaton.threads()
  t.ok(made > 20_000, `${made} steps were worked out`)
  t.ok(kept < MOST, `${kept} threads are kept`)
  t.equal(first.threads.length, 0)
})
