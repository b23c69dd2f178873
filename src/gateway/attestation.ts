// Gives evidence of the usage log to readers who do not trust it: checkpoints, the full check and
// the identity of this run.

import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { JsonObject } from '../core/json.ts'
import type { GatewayState } from '../metrics/registry.ts'
import { SIGNING_KEY_FILE } from '../store/files/signingkey.ts'
import type { StoredCheckpoint } from '../store/log/checkpoints.ts'
import type { Store } from '../store/store.ts'
import { BackgroundVerification, type VerificationFailure } from '../store/verification/background.ts'
import {
  readResult,
  resultOf,
  saveResult,
  type VerificationResult,
} from '../store/verification/last-result.ts'
import { Checkpointing } from './checkpointing.ts'
import type { DataFolder } from './datafolder.ts'
import type { HubLink } from './hub-link.ts'
import type { Identity } from './journal.ts'
import type { GatewayLogger } from './logger.ts'
import { VerificationSchedule } from './verification-schedule.ts'

/** Leading bits of the root in the metric. A sample is a float64, which holds 53 bits exactly. */
const FINGERPRINT_BITS = 52
const SECOND_MS = 1000

interface AttestationParts {
  readonly config: Config
  readonly folder: DataFolder
  readonly store: Store
  readonly clock: Clock
  readonly logger: GatewayLogger
  /** Has checkpoints cosigned; null without a hub. */
  readonly fleet: Pick<HubLink, 'signed' | 'onCosigned'> | null
}

export class Attestation {
  readonly signatures: Checkpointing
  readonly check: BackgroundVerification
  /** The boot entry names this run and the key whose signatures count from then on. */
  readonly identity: Identity
  readonly #logger: GatewayLogger
  readonly #path: string
  readonly #clock: Clock
  readonly #log: Pick<Store['log'], 'head'>
  readonly #schedule: VerificationSchedule
  /** The newest result of this run; null before the first check. */
  #result: VerificationResult | null = null

  constructor({ config, folder, store, clock, logger, fleet }: AttestationParts) {
    const { signingKey } = folder
    this.#path = config.data.path
    this.#clock = clock
    this.#log = store.log
    const { checkpoints } = store
    const onSigned = (checkpoint: StoredCheckpoint) => fleet?.signed(checkpoint)
    this.signatures = new Checkpointing({ checkpoints, signingKey, clock, logger, onSigned })
    if (fleet !== null) fleet.onCosigned = (checkpoint) => this.signatures.cosigned(checkpoint)
    this.check = new BackgroundVerification(
      config.data.path,
      clock,
      (verdict) => this.#takeVerdict(verdict),
      (failure) => this.#takeFailure(failure),
    )
    const everyMs = config.audit.verifyEverySeconds * SECOND_MS
    this.#schedule = new VerificationSchedule({ check: this.check, everyMs, logger })
    this.identity = {
      instance: config.instance,
      signer: this.signatures.publicKey,
      key_source: config.audit.signingKey === null ? 'generated' : 'configured',
    }
    this.#logger = logger
  }

  /**
   * Logs the newest checkpoint and begins to sign and to verify regularly. To be called once the
   * gateway listens.
   */
  start(): void {
    if (this.identity.key_source === 'generated') {
      this.#logger.warn(
        { file: SIGNING_KEY_FILE },
        'checkpoints are signed with a key in the data directory: anyone who can write the log can sign a forged one; set audit.signingKey to a key kept elsewhere',
      )
    }
    this.signatures.start()
    this.#schedule.start()
  }

  /** Ends a running check and signs the last checkpoint. */
  async stop(): Promise<void> {
    this.#schedule.stop()
    await this.check.close()
    await this.signatures.stop()
  }

  /** The newest checkpoint and the last full check, for the metrics page. */
  state(): Pick<GatewayState, 'checkpoint' | 'verified'> {
    const { newest } = this.signatures
    const checkpoint = newest && {
      sequence: newest.size - 1,
      fingerprint: Number(newest.root.readBigUInt64BE() >> BigInt(64 - FINGERPRINT_BITS)),
      timeSeconds: newest.signedAtMs / SECOND_MS,
    }
    const last = this.#lastResult()
    const verified = last && {
      ok: last.ok,
      sequence: last.seq,
      timeSeconds: last.finishedAtMs / SECOND_MS,
    }
    return { checkpoint, verified }
  }

  /** The newest result on this log, by this run, an earlier one or a command. */
  #lastResult(): VerificationResult | null {
    const stored = readResult(this.#path)
    const own = this.#result
    if (stored === null || (own !== null && own.finishedAtMs >= stored.finishedAtMs)) return own
    return stored.log === null || stored.log === this.#log.head.log ? stored : own
  }

  /** A check changes nothing, so it makes no entry. */
  #takeVerdict(verdict: JsonObject): void {
    const { ok, entries, findings } = verdict
    this.#keep(resultOf(verdict, this.#clock.now()))
    if (ok === true) this.#logger.info({ entries }, 'the full check found the usage log intact')
    else
      this.#logger.error(
        { entries, findings },
        'the full check found that the usage log was changed; keep a copy and run sidegate audit verify',
      )
  }

  #takeFailure({ reason, cause }: VerificationFailure): void {
    if (cause === 'cancelled') {
      this.#logger.info({}, 'the full check of the usage log was cancelled')
      return
    }
    if (cause === 'other') {
      this.#logger.warn({ reason }, 'the full check of the usage log gave no result')
      return
    }
    this.#keep(resultOf({ ok: false }, this.#clock.now()))
    this.#logger.error(
      { reason },
      'the full check found that the usage log is damaged; keep a copy and restart the gateway, which begins a new log',
    )
  }

  #keep(result: VerificationResult): void {
    this.#result = result
    try {
      saveResult(this.#path, result)
    } catch (error) {
      this.#logger.warn({ err: error }, 'the result of the full check could not be stored')
    }
  }
}
