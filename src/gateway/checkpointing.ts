// Signs checkpoints of the usage log: at start and stop, before pruning and as the log grows.
// Stores each with the log and writes it to standard output, where others can keep it.

import { originOf, signCheckpoint } from '../audit/checkpoint.ts'
import { readSigner, type Signer } from '../audit/note.ts'
import type { NotedCheckpoint } from '../audit/receipt.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Checkpoints, StoredCheckpoint } from '../store/log/checkpoints.ts'
import type { GatewayLogger } from './logger.ts'

/** A checkpoint is due after this time, if the log has grown, or after MAXIMUM_ENTRIES. */
const INTERVAL_MS: Milliseconds = 60_000
const MAXIMUM_ENTRIES = 10_000
const WATCH_MS: Milliseconds = 1000
/** Least time between checkpoints that are signed on request; each is stored and logged. */
const ON_REQUEST_MS: Milliseconds = 5000
const SECOND_MS: Milliseconds = 1000

export interface SignedCheckpoint extends NotedCheckpoint {
  readonly signedAtMs: Milliseconds
}

interface CheckpointingParts {
  readonly checkpoints: Checkpoints
  /** Ed25519 private key, PKCS#8 PEM. */
  readonly signingKey: string
  readonly clock: Clock
  readonly logger: GatewayLogger
  /** A checkpoint was signed and stored. */
  readonly onSigned?: (checkpoint: StoredCheckpoint) => void
}

export class Checkpointing {
  readonly #parts: CheckpointingParts
  readonly #signer: Signer
  #newest: SignedCheckpoint | null = null
  #lastAttemptMs: Milliseconds = 0
  #lastRequestMs: Milliseconds = Number.NEGATIVE_INFINITY
  /** Entries since the newest checkpoint, roughly. */
  #entries = 0
  #signing: Promise<void> | null = null
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

  /**
   * Logs the newest checkpoint, then signs and logs when one is due. Nothing is logged earlier,
   * because `listening` is the first line of the log.
   */
  start(): void {
    this.#timer = setInterval(() => this.#tick(), WATCH_MS).unref()
    this.#logNewest()
  }

  /** To be called when entries have become durable; the count may be approximate. */
  sealed(entries: number): void {
    this.#entries += entries
    if (this.#entries >= MAXIMUM_ENTRIES && this.#timer !== null) this.#tick()
  }

  /**
   * Signs a checkpoint over all durable entries. Resolves when it is stored, or when it failed,
   * which is logged.
   */
  async sign(): Promise<void> {
    // A checkpoint under way may not include the newest entries.
    while (this.#signing !== null) await this.#signing
    this.#signing = this.#signNewest().finally(() => {
      this.#signing = null
    })
    await this.#signing
  }

  /**
   * Returns a checkpoint that covers entry `seq`. Signs one if the newest does not, at most once
   * every ON_REQUEST_MS.
   * @throws GatewayError `audit_unavailable` (rejects) with the time to wait
   */
  async covering(seq: number): Promise<SignedCheckpoint> {
    const covers = () => this.#newest !== null && this.#newest.size > seq
    const nowMs = this.#parts.clock.monotonic()
    if (!covers() && this.#signing === null && nowMs - this.#lastRequestMs >= ON_REQUEST_MS) {
      this.#lastRequestMs = nowMs
      await this.sign()
    } else await this.#signing
    if (this.#newest !== null && covers()) return this.#newest
    const waitMs = this.#lastRequestMs + ON_REQUEST_MS - this.#parts.clock.monotonic()
    const seconds = Math.max(1, Math.ceil(waitMs / SECOND_MS))
    throw new GatewayError(
      'audit_unavailable',
      `No checkpoint covers this entry yet; ask again in ${seconds} s.`,
      { headers: { 'retry-after': String(seconds) } },
    )
  }

  /** Keeps a checkpoint with the signature of a hub in place of the own one. */
  async cosigned({ size, note }: StoredCheckpoint): Promise<void> {
    try {
      await this.#parts.checkpoints.save({ size, note })
      if (this.#newest?.size === size) this.#newest = { ...this.#newest, note }
    } catch (error) {
      this.#parts.logger.warn(
        { err: error, size },
        'a checkpoint that a hub has cosigned could not be stored',
      )
    }
  }

  /** Signs the last checkpoint. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.sign()
  }

  #tick(): void {
    const due = this.#parts.clock.monotonic() - this.#lastAttemptMs >= INTERVAL_MS
    if (this.#signing === null && (due || this.#entries >= MAXIMUM_ENTRIES)) void this.sign()
  }

  async #signNewest(): Promise<void> {
    const { checkpoints, clock, logger } = this.#parts
    this.#lastAttemptMs = clock.monotonic()
    this.#entries = 0
    try {
      const signedAtMs = clock.now()
      const checkpoint = checkpoints.describe(signedAtMs)
      const { size } = checkpoint
      if (size === this.#newest?.size) return
      const note = signCheckpoint(checkpoint, this.#signer)
      await checkpoints.save({ size, note })
      this.#newest = { ...checkpoint, note, signedAtMs }
      this.#parts.onSigned?.({ size, note })
      if (this.#timer !== null) this.#logNewest()
    } catch (error) {
      logger.error({ err: error }, 'a checkpoint could not be signed and stored; it is retried')
    }
  }

  #logNewest(): void {
    if (this.#newest === null) return
    const { note, size } = this.#newest
    this.#parts.logger.info({ checkpoint: note, size }, 'audit checkpoint')
  }
}
