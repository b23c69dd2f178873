// Tests that the memory of expressions is bounded, however many texts they have searched.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Prefilter } from '../../src/keyword/prefilter/prefilter.ts'
import { ExpressionAutomaton, type ThreadSet } from '../../src/keyword/regexp/automaton.ts'
import { ExpressionCursor } from '../../src/keyword/regexp/cursor.ts'
import { compileExpression, type Program } from '../../src/keyword/regexp/instructions.ts'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

/** An automaton that counts the sets of threads still referenced elsewhere. */
class WatchedAutomaton extends ExpressionAutomaton {
  readonly #made: WeakRef<ThreadSet>[] = []

  constructor(expression: string) {
    super([compileExpression(expression) as Program])
  }

  override computeTransition(...args: Parameters<ExpressionAutomaton['computeTransition']>) {
    const step = super.computeTransition(...args)
    this.#made.push(new WeakRef(step.target))
    return step
  }

  /** Threads of all sets still referenced, and the number of computed transitions. */
  threads(): { kept: number; made: number } {
    gc()
    const sets = new Set(this.#made.map((made) => made.deref()))
    let kept = 0
    for (const set of sets) kept += set?.threads.length ?? 0
    return { kept, made: this.#made.length }
  }
}

/** Nearly every character of the texts leads to a new set of threads. */
const EXPRESSION = '(?s)a.{900}q'
const TEXTS = 60
/** The most threads that the automaton and the prefilter's table may keep together. */
const THREADS_MAX = 1_100_000

/** Random texts, the same in each run. */
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

/** A weak reference keeps its target until the end of the turn. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

t.test('the prefilter keeps a bounded number of threads', async (t) => {
  const automaton = new WatchedAutomaton(EXPRESSION)
  const prefilter = new Prefilter(null, automaton)
  for (const text of texts()) prefilter.mayMatch(text)
  await nextTurn()
  const { kept, made } = automaton.threads()
  t.ok(made > 20_000, `${made} transitions were computed`)
  t.ok(kept < THREADS_MAX, `${kept} threads are kept`)
  t.equal(prefilter.mayMatch('b'), false)
})

t.test('cursors that hold an old set keep a bounded number of threads', async (t) => {
  const automaton = new WatchedAutomaton(EXPRESSION)
  const first = automaton.begin()
  const streams = Array.from(texts(), (text) => ({ text, cursor: new ExpressionCursor(automaton) }))
  for (let at = 0; at < 600; at++) {
    for (const { text, cursor } of streams)
      cursor.take(text.charCodeAt(at), text.charCodeAt(at), at, () => {})
  }
  await nextTurn()
  const { kept, made } = automaton.threads()
  t.ok(made > 20_000, `${made} transitions were computed`)
  t.ok(kept < THREADS_MAX, `${kept} threads are kept`)
  t.equal(first.threads.length, 0)
})
