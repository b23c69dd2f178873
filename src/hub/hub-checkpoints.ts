// Signs checkpoints of the log that all hubs share: at start and stop, and as that log or the log
// of a sidecar grows. Each is stored in the database and written to standard output, where others
// can keep it: one line that anchors the whole fleet.

import { signCheckpoint } from '../audit/checkpoint.ts'
import type { Signer } from '../audit/note.ts'
import type { NotedCheckpoint } from '../audit/receipt.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import type { FleetWitness } from '../ledger/fleet-witness.ts'
import type { LedgerCheckpoints } from '../ledger/ledger-checkpoints.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'

/** Interval at which a checkpoint is signed, if a log has grown. */
const INTERVAL_MS: Milliseconds = 10_000

interface HubCheckpointsParts {
  readonly checkpoints: Pick<LedgerCheckpoints, 'describe' | 'save'>
  /** Seals the roots of the logs of sidecars in the log of the hubs. */
  readonly witness: Pick<FleetWitness, 'seal'>
  /** Its name is the origin of the log. */
  readonly signer: Signer
  readonly clock: Pick<Clock, 'now'>
  readonly logger: GatewayLogger
  readonly metrics: Pick<HubMetrics, 'checkpointSize'>
}

export class HubCheckpoints {
  readonly #parts: HubCheckpointsParts
  #newest: NotedCheckpoint | null = null
  #signing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | null = null

  constructor(parts: HubCheckpointsParts) {
    this.#parts = parts
  }

  /** The public key as a signed-note verifier key. */
  get publicKey(): string {
    return this.#parts.signer.verifier.text
  }

  /** The newest checkpoint of this hub; null before the first. */
  get newest(): NotedCheckpoint | null {
    return this.#newest
  }

  /** Signs now, and regularly from now on. */
  start(): void {
    this.#timer = setInterval(() => void this.sign(), INTERVAL_MS).unref()
    void this.sign()
  }

  /** Signs a checkpoint if a log has grown. A failure is logged, and retried at the next time. */
  sign(): Promise<void> {
    this.#signing = this.#signing.then(() => this.#signNewest())
    return this.#signing
  }

  /** Signs the last checkpoint. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.sign()
  }

  async #signNewest(): Promise<void> {
    const { checkpoints, witness, signer, clock, logger, metrics } = this.#parts
    try {
      await witness.seal()
      const checkpoint = await checkpoints.describe(clock.now())
      const { size } = checkpoint
      if (size === this.#newest?.size) return
      const note = signCheckpoint(checkpoint, signer)
      await checkpoints.save(checkpoint, note)
      this.#newest = { ...checkpoint, note }
      metrics.checkpointSize.set(size)
      logger.info({ checkpoint: note, size }, 'audit checkpoint')
    } catch (error) {
      logger.error({ err: error }, 'a checkpoint could not be signed and stored; it is retried')
    }
  }
}
