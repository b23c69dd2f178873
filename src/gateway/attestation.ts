// Gives evidence of the usage log to readers who do not trust it: checkpoints, the full check and
// the identity of this run.

import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { JsonObject } from '../core/json.ts'
import type { GatewayState } from '../metrics/registry.ts'
import { SIGNING_KEY_FILE } from '../store/folder/signingkey.ts'
import type { Store } from '../store/store.ts'
import { BackgroundVerification } from '../store/verification/background.ts'
import { Checkpointing } from './checkpointing.ts'
import type { DataFolder } from './datafolder.ts'
import type { Identity } from './journal.ts'
import type { GatewayLogger } from './logger.ts'

/** Leading bits of the root in the metric. A sample is a float64, which holds 53 bits exactly. */
const FINGERPRINT_BITS = 52

interface AttestationParts {
  readonly config: Config
  readonly folder: DataFolder
  readonly store: Store
  readonly clock: Clock
  readonly logger: GatewayLogger
}

export class Attestation {
  readonly signatures: Checkpointing
  readonly check: BackgroundVerification
  /** The boot entry names this run and the key whose signatures count from then on. */
  readonly identity: Identity
  readonly #logger: GatewayLogger

  constructor({ config, folder, store, clock, logger }: AttestationParts) {
    const { signingKey } = folder
    const { checkpoints } = store
    this.signatures = new Checkpointing({ checkpoints, signingKey, clock, logger })
    this.check = new BackgroundVerification(config.data.path, clock, (verdict) => this.#logVerdict(verdict))
    this.identity = {
      instance: config.instance,
      signer: this.signatures.publicKey,
      key_source: config.audit.signingKey === null ? 'generated' : 'configured',
    }
    this.#logger = logger
  }

  /**
   * Logs the newest checkpoint and begins to sign regularly. To be called once the gateway listens.
   */
  start(): void {
    if (this.identity.key_source === 'generated') {
      this.#logger.warn(
        { file: SIGNING_KEY_FILE },
        'checkpoints are signed with a key in the data directory: anyone who can write the log can sign a forged one; set audit.signingKey to a key kept elsewhere',
      )
    }
    this.signatures.start()
  }

  /** Ends a running check and signs the last checkpoint. */
  async stop(): Promise<void> {
    await this.check.close()
    await this.signatures.stop()
  }

  /** The newest checkpoint and the last full check, for the metrics page. */
  state(): Pick<GatewayState, 'checkpoint' | 'verified'> {
    const { newest } = this.signatures
    const { verdict, finishedAtMs } = this.check.status
    const head = verdict?.['head'] as { readonly seq: number } | null | undefined
    const checkpoint = newest && {
      sequence: newest.size - 1,
      fingerprint: Number(newest.root.readBigUInt64BE() >> BigInt(64 - FINGERPRINT_BITS)),
      timeSeconds: newest.signedAtMs / 1000,
    }
    const verified =
      verdict === null
        ? null
        : { ok: verdict['ok'] === true, sequence: head?.seq ?? -1, timeSeconds: (finishedAtMs ?? 0) / 1000 }
    return { checkpoint, verified }
  }

  /** A check changes nothing, so it makes no entry. */
  #logVerdict({ ok, entries, findings }: JsonObject): void {
    if (ok === true) this.#logger.info({ entries }, 'the full check found the usage log intact')
    else
      this.#logger.error(
        { entries, findings },
        'the full check found that the usage log was changed; keep a copy and run sidegate audit verify',
      )
  }
}
