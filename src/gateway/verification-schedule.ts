// Verifies the whole log at regular times. The first time is random, so that the gateways of a
// fleet do not all read their logs at once.

import type { Milliseconds } from '../core/clock.ts'
import type { BackgroundVerification } from '../store/verification/background.ts'
import type { GatewayLogger } from './logger.ts'

interface ScheduleParts {
  readonly check: Pick<BackgroundVerification, 'start'>
  /** At most 2^31 - 1; 0 to verify on request only. */
  readonly everyMs: Milliseconds
  readonly logger: Pick<GatewayLogger, 'warn'>
  /** From 0 to 1, exclusive. */
  readonly random?: () => number
}

export class VerificationSchedule {
  readonly #parts: ScheduleParts
  #timer: NodeJS.Timeout | null = null

  constructor(parts: ScheduleParts) {
    this.#parts = parts
  }

  start(): void {
    const { everyMs, random = Math.random } = this.#parts
    if (everyMs > 0) this.#wait(Math.ceil(random() * everyMs))
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #wait(delayMs: Milliseconds): void {
    this.#timer = setTimeout(() => {
      this.#wait(this.#parts.everyMs)
      void this.#run()
    }, delayMs).unref()
  }

  async #run(): Promise<void> {
    try {
      await this.#parts.check.start()
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'the full check of the usage log could not be started')
    }
  }
}
