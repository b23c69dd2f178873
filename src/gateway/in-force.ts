// What of the configuration a reload replaces. Calls take all of it with one reference, so that
// each follows one configuration to its end.

import type { Clock } from '../core/clock.ts'
import type { Config, ConfigReading } from '../core/config.ts'
import { RELOADABLE, type ReloadableConfig } from '../core/config-changes.ts'
import type { Path } from '../core/document.ts'
import type { UpstreamConfig } from '../core/upstream-config.ts'
import type { TokenKeys } from '../jwt/token-keys.ts'
import type { Metrics } from '../metrics/registry.ts'
import { passThroughFor } from '../pipeline/pass-through.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Served } from '../server/handler.ts'
import type { LiveTail } from '../server/live-tail.ts'
import type { Store } from '../store/store.ts'
import type { AdminAccess } from './admin-access.ts'
import { openIssuers } from './issuers.ts'
import { LiveConfig } from './live-config.ts'
import type { GatewayLogger } from './logger.ts'
import { findUnfit } from './preflight.ts'
import { logRotations } from './rotation.ts'

interface InForceParts {
  readonly config: Config
  readonly pipeline: Pipeline
  /** Null when no key is a token of an issuer. */
  readonly tokens: TokenKeys | null
  readonly admin: Pick<AdminAccess, 'replace'>
  readonly ring: Pick<Store['ring'], 'declare'>
  readonly liveTail: Pick<LiveTail, 'checkSessions'>
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: GatewayLogger
}

/** The sections that calls read, as the pipeline has them. */
export const pipelineTerms = ({
  tools,
  policy,
}: Pick<Config, 'tools' | 'policy'>): Pick<Pipeline, 'toolServers' | 'refusalStatus'> => ({
  toolServers: tools.servers,
  refusalStatus: policy.refusalStatus ?? null,
})

export class InForce {
  readonly #parts: InForceParts
  #config: Config
  #served: Served
  #tokens: TokenKeys | null

  constructor(parts: InForceParts) {
    const { config, pipeline, tokens } = parts
    this.#parts = parts
    this.#tokens = tokens
    this.#config = config
    this.#served = { pipeline, findPassed: passThroughFor(config.passThrough) }
  }

  /** What a request that arrives now is served by. */
  get served(): Served {
    return this.#served
  }

  /** The tokens that stand for keys; null for none. */
  get tokens(): TokenKeys | null {
    return this.#tokens
  }

  /**
   * Replaces all of it. Calls under way finish with what they began with.
   * @param isSame whether the file has what is in force at a path
   */
  replace(next: ReloadableConfig, isSame: (path: Path) => boolean): void {
    const { upstreams: declared, passThrough, keys, tools, policy, admin, log, ...others } = next
    // A row of RELOADABLE that nothing here takes is an error of this line.
    others satisfies Record<string, never>
    const { admin: access, ring, liveTail, logger } = this.#parts
    const upstreams = declared.map((one) => (isSame(one.declaredAt) ? (this.#upstreamAt(one) ?? one) : one))
    const before = this.#tokens
    const tokens = isSame(['keys']) ? before : openIssuers(next, this.#parts, before)
    const { pipeline } = this.#served
    const findPassed = passThroughFor(passThrough)
    const terms = { ...pipelineTerms(next), tokens, upstreams: pipeline.upstreams.replacedBy(upstreams) }
    // Nothing fails from here on.
    const config = { ...this.#config, upstreams, passThrough, keys, tools, policy, log }
    this.#served = { pipeline: { ...pipeline, ...terms }, findPassed }
    this.#config = isSame(['admin']) ? config : { ...config, admin }
    if (!isSame(['admin'])) access.replace(admin)
    if (!isSame(['keys'])) {
      ring.declare(keys)
      this.#tokens = tokens
      tokens?.start()
      before?.close(tokens)
    }
    liveTail.checkSessions()
    logger.level = log.level
    logRotations(this.#config, logger)
  }

  /** The upstream in force that is declared at the same place. */
  #upstreamAt({ declaredAt }: UpstreamConfig): UpstreamConfig | undefined {
    const place = declaredAt.join()
    return this.#config.upstreams.find((one) => one.declaredAt.join() === place)
  }
}

/** The configuration of a gateway. */
export type LiveGatewayConfig = LiveConfig<Config, keyof ReloadableConfig>

/** Follows the file of a reading without problems. */
export function followConfig(
  { settings, included, source }: ConfigReading,
  inForce: Pick<InForce, 'replace'>,
  logger: GatewayLogger,
): LiveGatewayConfig {
  const check = (reading: ConfigReading): ConfigReading => {
    const unfit = reading.config === null ? [] : findUnfit(reading, reading.config)
    return { ...reading, problems: [...reading.problems, ...unfit] }
  }
  return new LiveConfig({
    reading: { settings, included },
    source: source === null ? null : { ...source, parse: (text) => check(source.parse(text)) },
    reloadable: RELOADABLE,
    replace: (config, isSame) => inForce.replace(config, isSame),
    logger,
  })
}
