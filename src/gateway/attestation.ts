// What speaks for the log to those who do not trust it: the signatures over it, the full check of it, who this run is.

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

/** Bits of a root that a float64, which is all a sample can be, holds exactly. */
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
  /** What the log calls this run, and whose signatures count from it on. */
  readonly identity: Identity
  readonly #logger: GatewayLogger

  constructor({ config, folder, store, clock, logger }: AttestationParts) {
    const { signingKey } = folder
    const { checkpoints } = store
    this.signatures = new Checkpointing({ checkpoints, signingKey, clock, logger })
    this.check = new BackgroundVerification(config.data.path, clock, (verdict) => this.#tell(verdict))
    this.identity = {
      instance: config.instance,
      signer: this.signatures.publicKey,
      key_source: config.audit.signingKey === null ? 'generated' : 'configured',
    }
    this.#logger = logger
  }

  /** Says who signs, and what was signed for; once the gateway listens. */
  start(): void {
    if (this.identity.key_source === 'generated') {
      this.#logger.warn(
        { file: SIGNING_KEY_FILE },
        'checkpoints are signed with a key that lies beside the log: whoever can write the log can sign for it; set audit.signingKey',
      )
    }
    this.signatures.start()
  }

  /** Ends a running check, and signs for the end of the log. */
  async stop(): Promise<void> {
    await this.check.close()
    await this.signatures.stop()
  }

  /** As the metrics page shows it. */
  state(): Pick<GatewayState, 'checkpoint' | 'verified'> {
    const { newest } = this.signatures
    const { verdict, finishedAtMs } = this.check.status
    const head = verdict?.['head'] as { readonly seq: number } | null | undefined
    const checkpoint = newest && {
      sequence: newest.size - 1,
      fingerprint: Number(newest.root.readBigUInt64BE() >> BigInt(64 - FINGERPRINT_BITS)),
      timeSeconds: newest.madeAtMs / 1000,
    }
    const verified =
      verdict === null
        ? null
        : { ok: verdict['ok'] === true, sequence: head?.seq ?? -1, timeSeconds: (finishedAtMs ?? 0) / 1000 }
    return { checkpoint, verified }
  }

  /** Checking changes nothing, so that nothing is sealed of it. */
  #tell({ ok, entries, findings }: JsonObject): void {
    if (ok === true) this.#logger.info({ entries }, 'the usage log was checked and is intact')
    else this.#logger.error({ entries, findings }, 'the usage log is not what was sealed')
  }
}
