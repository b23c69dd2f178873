// Composition root: builds a gateway from its configuration, starts it and stops it.

import type { RunningGateway, RunOptions } from './cli/running-gateway.ts'
import { type Milliseconds, systemClock } from './core/clock.ts'
import type { ConfigReading } from './core/config.ts'
import { isAmong } from './core/config-document.ts'
import { within } from './core/deadline.ts'
import type { Problem } from './core/problem.ts'
import { VERSION } from './core/version.ts'
import { type DataFolder, takeDataFolder } from './gateway/datafolder.ts'
import { listenWith, servedBy } from './gateway/live-certificate.ts'
import { loadPrices } from './gateway/live-prices.ts'
import { createLogger, TurnLines } from './gateway/logger.ts'
import { buildParts, type GatewayParts } from './gateway/parts.ts'
import { findObstacles } from './gateway/preflight.ts'
import { sealInterrupted } from './gateway/recovery.ts'
import { logRotations } from './gateway/rotation.ts'
import { loadRules } from './rules/load.ts'
import { describeListenError, formatAddress, isListenError } from './server/address.ts'
import type { Listener } from './server/listener.ts'
import { StoreOpenError } from './store/environment/lmdb.ts'

/**
 * Time to seal the calls that the end of the drain interrupts. With the default drain and
 * LAST_BYTES_MS it fits into the 30 s that Kubernetes grants.
 */
const SEAL_MS = 3000
/** Time for clients to read their last bytes. */
const LAST_BYTES_MS = 1000

/**
 * Starts a gateway, or reports every problem at once: errors in the configuration, the rules and
 * the prices, busy ports, a store that cannot be opened. Nothing listens while there is a problem.
 */
export async function runGateway(
  reading: ConfigReading,
  { output, clock = systemClock }: RunOptions = {},
): Promise<RunningGateway | { readonly problems: readonly Problem[] }> {
  const { config, partial } = reading
  if (partial === null) return { problems: reading.problems }
  const rules = await loadRules(partial.rules.path)
  const prices = partial.prices === null ? null : await loadPrices(partial.prices.path)
  const problems = [...reading.problems, ...(await findObstacles(reading, partial))]
  if (!isAmong(problems, ['rules', 'path'])) problems.push(...rules.problems)
  if (prices !== null && !isAmong(problems, ['prices', 'path'])) problems.push(...prices.problems)
  if (config === null || problems.length > 0) return { problems }
  const lines = new TurnLines(output)
  const logger = createLogger(config.log.level, lines)
  logRotations(config, logger)
  let folder: DataFolder | null = null
  let gateway: Gateway | null = null
  try {
    folder = await takeDataFolder(config, logger)
    const parts = buildParts(config, reading, { rules, prices }, { clock, logger, folder })
    lines.onDrop = (count) => parts.metrics.logLinesDropped.inc(count)
    gateway = new Gateway(parts)
    const { fileErrors } = parts.rules.effective
    if (fileErrors.length === 0) return await gateway.start(lines)
    await gateway.abandon()
    return { problems: fileErrors.map(withRemedy) }
  } catch (error) {
    await (gateway === null ? folder?.release() : gateway.abandon())
    if (error instanceof StoreOpenError) {
      return { problems: [reading.problemAt(['data', 'path'], error.message)] }
    }
    // The port was free in findObstacles and has been taken since.
    if (isListenError(error)) return { problems: [reading.problemAt(['listen'], describeListenError(error))] }
    throw error
  }
}

/** A first start has no last good rules: without the files every call would pass. */
const withRemedy = (problem: Problem): Problem => ({
  ...problem,
  message: `${problem.message}, counting rules of the hub and those made through the API; set rules.apiWrites to readonly to leave the latter out`,
})

/** A built gateway and its sockets. Either `start` is called, then `stop`, or `abandon` alone. */
class Gateway {
  readonly #parts: GatewayParts
  readonly #hurry = Promise.withResolvers<void>()
  #listeners: Listener[] = []
  #ops: Listener[] = []
  #stopping: Promise<void> | null = null

  constructor(parts: GatewayParts) {
    this.#parts = parts
  }

  /** Releases what the parts hold. For a gateway that does not start, or whose start failed. */
  async abandon(): Promise<void> {
    const { rules, inForce, store, folder, certificates } = this.#parts
    inForce.tokens?.close()
    for (const certificate of servedBy(certificates)) certificate.close()
    for (const listener of [...this.#listeners, ...this.#ops]) listener.close()
    rules.release()
    inForce.served.pipeline.recognisers?.close()
    await inForce.served.pipeline.upstreams.close()
    await store.close()
    await folder.release()
  }

  /**
   * Seals the boot and the calls that the last process left, then opens the sockets: a client that
   * connects is served.
   * @param lines of the log, which begin with the line `listening`
   * @throws the system's error (rejects) when a socket cannot be opened
   */
  async start(lines: TurnLines): Promise<RunningGateway> {
    const { config, logger, folder, store, journal, attestation, rules, pipeline, handlers } = this.#parts
    const { certificates, inForce } = this.#parts
    inForce.tokens?.start()
    await journal.boot(attestation.identity)
    await sealInterrupted(folder.intents, store, pipeline)
    await journal.rulesLoaded(rules.effective)
    await attestation.signatures.sign()
    this.#ops = await listenWith(config.listen.ops, handlers.ops, certificates.ops)
    this.#listeners = await listenWith(config.listen.gateway, handlers.gateway, certificates.gateway)
    const gateway = this.#listeners.map(({ address }) => formatAddress(address))
    const ops = this.#ops.map(({ address }) => formatAddress(address))
    const { revision } = rules.effective
    lines.begin(() => logger.info({ gateway, ops, version: VERSION, revision }, 'listening'))
    attestation.start()
    this.#parts.memory?.start()
    await Promise.all(this.#followed().map((files) => files.start()))
    this.#parts.fleet?.start()
    return this.#running(gateway[0] ?? '', ops[0] ?? '')
  }

  #running(address: string, opsAddress: string): RunningGateway {
    const { store, failed } = this.#parts
    return {
      address,
      opsAddress,
      createKey: async (name, actor) => (await store.keys.create(name, actor)).key,
      reload: async () => {
        await Promise.all(this.#followed().map((files) => files.reload()))
      },
      stop: () => {
        this.#stopping ??= this.#stop()
        return this.#stopping
      },
      hurry: () => this.#hurry.resolve(),
      failed,
    }
  }

  async #stop(): Promise<void> {
    const { clock, logger, admission, rules, journal, attestation, inForce, store, folder, liveTail } =
      this.#parts
    const { drainSeconds } = this.#parts.config.limits
    const endMs = clock.monotonic() + drainSeconds * 1000
    logger.info({ calls: admission.inFlight, drainSeconds }, 'draining')
    const sealed = admission.drain()
    liveTail.close()
    inForce.tokens?.close()
    for (const listener of this.#listeners) listener.stopAccepting()
    await Promise.all(this.#followed().map((files) => files.close()))
    rules.release()
    for (const certificate of servedBy(this.#parts.certificates)) certificate.close()
    this.#parts.memory?.stop()
    const finished = Promise.race([this.#finished(sealed), this.#hurry.promise])
    if (!(await within(finished, drainSeconds * 1000)) || admission.running > 0) {
      logger.warn({ calls: admission.inFlight }, 'the drain is over; interrupting the calls that still run')
      admission.interruptAll()
      await within(sealed, SEAL_MS)
    }
    await this.#parts.fleet?.stop()
    await journal.stop()
    await attestation.stop()
    await Promise.all([within(this.#finished(sealed), LAST_BYTES_MS), this.#shipRest(endMs)])
    for (const listener of [...this.#listeners, ...this.#ops]) listener.close()
    inForce.served.pipeline.recognisers?.close()
    await inForce.served.pipeline.upstreams.close()
    const intact = store.log.writable
    await store.close()
    await folder.release(intact)
    logger.info({}, 'stopped')
  }

  /** Sends the rest of the log until the end of the drain, at least as long as last bytes take. */
  async #shipRest(endMs: Milliseconds): Promise<void> {
    const leftMs = Math.max(endMs - this.#parts.clock.monotonic(), LAST_BYTES_MS)
    await this.#parts.fleet?.finish(leftMs, this.#hurry.promise)
  }

  /** The parts that follow files. */
  #followed() {
    const { liveConfig, rules, prices, shadowRules } = this.#parts
    return [liveConfig, rules, prices, shadowRules].filter((one) => one !== null)
  }

  /** Resolves once every call is sealed and every answer is written out. */
  async #finished(sealed: Promise<void>): Promise<void> {
    await sealed
    await Promise.all(this.#listeners.map((listener) => listener.written()))
  }
}
