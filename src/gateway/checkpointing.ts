// When the log is signed for: at the start and the stop, before anything is pruned, and as it grows. What is signed is
// kept beside the log, and said where it can be kept by others.

import { type Checkpoint, originOf, signCheckpoint } from '../audit/checkpoint.ts'
import { readSigner, type Signer } from '../audit/note.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Checkpoints } from '../store/log/checkpoints.ts'
import type { GatewayLogger } from './logger.ts'

/** With news, one is made this often, or after so many entries. */
const INTERVAL_MS: Milliseconds = 60_000
const MAX_ENTRIES = 10_000
const WATCH_MS: Milliseconds = 1000

export interface SignedCheckpoint extends Checkpoint {
  readonly note: string
  readonly madeAtMs: Milliseconds
}

interface CheckpointingParts {
  readonly checkpoints: Checkpoints
  /** Ed25519 private key, PKCS#8 PEM. */
  readonly signingKey: string
  readonly clock: Clock
  readonly logger: GatewayLogger
}

export class Checkpointing {
  readonly #parts: CheckpointingParts
  readonly #signer: Signer
  #newest: SignedCheckpoint | null = null
  #madeAtMs: Milliseconds = 0
  /** Sealed since the newest was made, about. */
  #entries = 0
  #making: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(parts: CheckpointingParts) {
    this.#parts = parts
    const { log } = parts.checkpoints.describe(parts.clock.now())
    this.#signer = readSigner(originOf(log), parts.signingKey)
  }

  /** The public key as a signed-note verifier key. */
  get publicKey(): string {
    return this.#signer.verifier.text
  }

  /** The newest checkpoint of this run; null before the first. */
  get newest(): SignedCheckpoint | null {
    return this.#newest
  }

  /** Says what was signed for up to now, and goes on doing both. The first line of the log is not its to write. */
  start(): void {
    this.#timer = setInterval(() => this.#tick(), WATCH_MS).unref()
    this.#tell()
  }

  /** These many entries, about, have become durable. */
  sealed(entries: number): void {
    this.#entries += entries
    if (this.#entries >= MAX_ENTRIES && this.#timer !== null) this.#tick()
  }

  /** Signs for all entries that are durable now; resolves when that is kept. Failing is logged and stops nothing. */
  async make(): Promise<void> {
    // One that is being made may have begun before the entries that are meant now.
    while (this.#making !== null) await this.#making
    this.#making = this.#make().finally(() => {
      this.#making = null
    })
    await this.#making
  }

  /** Signs for the end of the log. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.make()
  }

  #tick(): void {
    const due = this.#parts.clock.monotonic() - this.#madeAtMs >= INTERVAL_MS
    if (this.#making === null && (due || this.#entries >= MAX_ENTRIES)) void this.make()
  }

  async #make(): Promise<void> {
    const { checkpoints, clock, logger } = this.#parts
    this.#madeAtMs = clock.monotonic()
    this.#entries = 0
    try {
      const madeAtMs = clock.now()
      const checkpoint = checkpoints.describe(madeAtMs)
      const { size } = checkpoint
      if (size === this.#newest?.size) return
      const note = signCheckpoint(checkpoint, this.#signer)
      await checkpoints.save({ size, note })
      this.#newest = { ...checkpoint, note, madeAtMs }
      if (this.#timer !== null) this.#tell()
    } catch (error) {
      logger.error({ err: error }, 'the usage log could not be signed for; it will be tried again')
    }
  }

  #tell(): void {
    if (this.#newest === null) return
    const { note, size } = this.#newest
    this.#parts.logger.info({ checkpoint: note, size }, 'audit checkpoint')
  }
}
