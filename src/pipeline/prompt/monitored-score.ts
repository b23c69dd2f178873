// An injection score that can deny nothing: only monitoring rules read it. It is made while the
// upstream works, so that it delays no call.

import { atOnce, endOfTurn, type Steps } from '../../core/steps.ts'
import type { InjectionModel } from '../../detect/injection/score.ts'
import type { Selection } from '../../policy/compile.ts'
import { monitoredInjection } from '../../policy/decide.ts'
import type { Call, DeferredScore } from '../call/call.ts'
import type { Client } from '../call/client.ts'
import { injectionJudgement } from './decide-prompt.ts'
import type { PromptScore } from './injection.ts'
import type { Inspection } from './inspect.ts'

interface ScoreParts {
  readonly call: Call
  readonly client: Pick<Client, 'interrupted'>
  readonly steps: Steps<PromptScore>
  readonly selection: Selection
  readonly model: InjectionModel
  readonly factsWith: Inspection['factsWith']
  /** True when the prompt is scored in slices. */
  readonly isLong: boolean
  /** Releases the memory that the prompt's texts take up. */
  readonly release: () => void
}

export class MonitoredScore implements DeferredScore {
  #parts: ScoreParts | null
  #firesRules = true

  constructor(parts: ScoreParts) {
    this.#parts = parts
  }

  withoutRules(): void {
    this.#firesRules = false
  }

  /**
   * Makes the score and writes it to the call's record.
   * @throws GatewayError `draining` when a stop interrupts the call
   */
  async finish(): Promise<void> {
    if (this.#parts === null) return
    const { call, client, steps, selection, model, factsWith, isLong, release } = this.#parts
    this.#parts = null
    try {
      await endOfTurn()
      const scores = isLong
        ? await call.measureSlices('inspect', steps, client)
        : call.measure('inspect', () => atOnce(steps))
      call.record.injection = injectionJudgement(scores.worst(null), selection, model)
      if (this.#firesRules) call.record.hits.push(...monitoredInjection(selection, factsWith(scores)))
    } finally {
      release()
    }
  }
}
