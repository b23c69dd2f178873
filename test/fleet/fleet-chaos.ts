// `npm run fleet:chaos`: a thousand simulated and three real sidecars on two hubs and PostgreSQL,
// while keys change, limits are used up and everything is killed. Checks that no sidecar decides
// against an answer, that no limit is exceeded, and that no entry of a log is lost or stored twice.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { seededRandom } from '../../src/core/seeded-random.ts'
import { fetchInTime, until } from '../process/until.ts'
import { type CalledSidecar, ChaosChanges, NAMESPACES } from './chaos-changes.ts'
import { ChaosFaults, QUICK_WEIGHTS, WEIGHTS } from './chaos-faults.ts'
import { ChaosLedger } from './chaos-ledger.ts'
import { amountOf, ChaosLimits, limitRules } from './chaos-limits.ts'
import { ChaosLogs } from './chaos-logs.ts'
import { type ChaosOptions, readOptions } from './chaos-options.ts'
import { type ChaosResult, type HubFigures, report, spreadOf } from './chaos-report.ts'
import { cpuMsPerSecond, residentMib } from './process-figures.ts'
import { RunningFleet } from './running-fleet.ts'
import { oneOf } from './seeded.ts'
import { SimulatedSidecar } from './simulated-sidecar.ts'

/** Simulated sidecars that seal calls each tenth of a second. */
const SEALED_AT_ONCE = 50
/** Steps that run at a time. */
const WORKERS = 4
/** Share of the steps that disturb. */
const FAULT_SHARE = 0.2
const QUICK_MS = 45_000
/** Pause after each key that is made and revoked while logs catch up. */
const CATCH_UP_PAUSE_MS = 1000
/** Simulated sidecars that soon refuse keys of hubs for their age. */
const SHORT_LIVED_SHARE = 0.05
const CONNECT_BATCH = 100
const PODS = ['web-0', 'web-1', 'web-2']
const NS_PER_MS = 1e6
const MAX_STALE_SECONDS = 3600
/** Changes before the faults. */
const FIRST_KEYS = 30
const CONVERGED_MS = 45_000

/** One run. */
class Chaos {
  readonly #options: ChaosOptions
  readonly #random: () => number
  readonly #fleet = new RunningFleet({
    ...{ hubs: 2, pods: PODS, maxStaleSeconds: MAX_STALE_SECONDS },
    hubConfig: { rules: { path: 'rules.yaml' } },
    hubFiles: { 'rules.yaml': limitRules() },
  })
  readonly #sidecars: SimulatedSidecar[] = []
  readonly #logs = new ChaosLogs(this.#sidecars)
  readonly #limits: ChaosLimits
  readonly #called: CalledSidecar[] = []
  #mostMib = 0

  constructor(options: ChaosOptions) {
    this.#options = options
    this.#random = seededRandom(options.seed)
    this.#limits = new ChaosLimits(this.#sidecars, this.#random)
  }

  stop(): Promise<void> {
    return this.#fleet.stop()
  }

  async run(): Promise<ChaosResult> {
    const { isQuick, seed, sidecars } = this.#options
    const fleet = this.#fleet
    await fleet.start()
    // All feeds at one hub, to measure it.
    const [first, second] = fleet.hubs as [(typeof fleet.hubs)[number], (typeof fleet.hubs)[number]]
    await second.child.stop()
    const connectMs = await this.#connectAll()
    note(`${sidecars} simulated sidecars are connected after ${connectMs} ms`)
    for (const { name, url } of fleet.sidecars)
      this.#called.push({ name, url, isDisturbed: false, disturbances: 0 })
    const ledger = new ChaosLedger(this.#sidecars)
    const shared = { fleet, sidecars: this.#sidecars, called: this.#called, random: this.#random }
    const quiet = new ChaosChanges({ ...shared, ledger, cookie: await cookieAt(first.url, fleet.token) })
    const [sidecarMs, before] = await this.#measure()
    const catchUp = await this.#catchUp(
      new ChaosChanges({ ...shared, ledger, cookie: await cookieAt(first.url, fleet.token) }),
      ledger,
    )
    note(`catch-up: ${JSON.stringify(catchUp)}`)
    second.child = await fleet.startHub(second.file)
    await this.#changeQuietly(quiet, ledger)
    note(`quiet: ${JSON.stringify(spreadOf(quiet.answersMs))}`)
    const cookie = await cookieAt(first.url, fleet.token)
    const changes = new ChaosChanges({ ...shared, ledger, cookie })
    const faults = new ChaosFaults({ ...shared, weights: isQuick ? QUICK_WEIGHTS : WEIGHTS })
    const limits = await this.#limits.run(this.#options.limits, faults)
    note(`limits: ${JSON.stringify(limits)}`)
    const startedMs = performance.now()
    const lag = monitorEventLoopDelay({ resolution: 10 })
    lag.enable()
    await this.#takeSteps(changes, faults, ledger)
    lag.disable()
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    await faults.repaired()
    const convergedMs = await this.#converge(ledger)
    await second.child.stop()
    await until('all feeds are at one hub', () => this.#sidecars.every((one) => one.isConnected))
    const [, after] = await this.#measure()
    const logs = await this.#logs.check(fleet.urlAs('owner'), ledger)
    this.#restartAll(ledger)
    const { counts, answersMs, inForceMs, unavailable, unanswered } = changes
    return {
      ...{ seed, sidecars: sidecars + PODS.length, steps: ledger.step, seconds },
      ...{
        changes: counts,
        faults: faults.counts,
        checks: ledger.checks,
        calls: quiet.calls + changes.calls,
      },
      ...{ violations: ledger.violationCount, first_violations: ledger.violations },
      quiet: { answer_ms: spreadOf(quiet.answersMs), in_force_ms: spreadOf(quiet.inForceMs) },
      chaos: {
        ...{ answer_ms: spreadOf(answersMs), in_force_ms: spreadOf(inForceMs), unavailable, unanswered },
        simulator_lag_p99_ms: Math.round(lag.percentile(99) / NS_PER_MS),
        simulator_lag_max_ms: Math.round(lag.max / NS_PER_MS),
      },
      ...{ catch_up: catchUp, limits, logs },
      hub: { before, after, most_rss_mib: Math.round(this.#mostMib) },
      ...{ sidecar_idle_cpu_ms_per_s: sidecarMs, connect_ms: connectMs, converged_ms: convergedMs },
    }
  }

  async #connectAll(): Promise<number> {
    const hubs = this.#fleet.hubs.map(({ url }) => url)
    for (let number = 0; number < this.#options.sidecars; number++) {
      const namespace = this.#random() < 0.7 ? NAMESPACES[0] : NAMESPACES[1]
      const pod = `sim-${number}`
      const maxStaleSeconds = this.#random() < SHORT_LIVED_SHARE ? 5 : MAX_STALE_SECONDS
      const token = await this.#fleet.tokenOf(pod, namespace)
      const { mayShip } = this.#logs
      const { asked } = this.#limits
      const options = { name: `${namespace}/${pod}`, namespace, token, hubs, maxStaleSeconds, mayShip }
      this.#sidecars.push(new SimulatedSidecar({ ...options, amountOf, asked, random: this.#random }))
    }
    const startedMs = performance.now()
    for (let at = 0; at < this.#sidecars.length; at += CONNECT_BATCH) {
      const batch = this.#sidecars.slice(at, at + CONNECT_BATCH)
      for (const one of batch) one.start()
      await until('simulated sidecars connect', () => batch.every((one) => one.isConnected), 15_000).catch(
        (error: Error) => {
          const problems = new Set(
            batch.flatMap(({ problem, isConnected }) => (isConnected ? [] : (problem ?? []))),
          )
          throw new Error(`${error.message}: ${[...problems].slice(0, 3).join('; ')}`)
        },
      )
    }
    return Math.round(performance.now() - startedMs)
  }

  /** @returns milliseconds of CPU a second of an idle sidecar, and what the first hub takes */
  async #measure(): Promise<[number, HubFigures]> {
    const { hubs, sidecars } = this.#fleet
    const hub = hubs[0]!
    const pids = [hub, ...sidecars].map(({ child }) => child.pid)
    await delay(2000)
    const [hubMs = 0, ...others] = await cpuMsPerSecond(pids, this.#options.isQuick ? 6 : 20)
    const metrics = await (await fetchInTime(`${hub.opsUrl}/metrics`)).text()
    const feeds = Number(/^sidegate_hub_feeds(?:\{.*\})? (\d+)/m.exec(metrics)?.[1])
    const idle = Math.round(hubMs) / 10
    const mib = Math.round(residentMib(hub.child.pid))
    const median = others.sort((one, other) => one - other)[1] ?? 0
    return [Math.round(median * 10) / 10, { feeds, idle_cpu_percent: idle, rss_mib: mib }]
  }

  /** All sidecars come back from an outage at one hub, while keys are revoked there. */
  async #catchUp(changes: ChaosChanges, ledger: ChaosLedger): Promise<ChaosResult['catch_up']> {
    const { entries, sidecars } = this.#options
    const { hubs } = this.#fleet
    // The second hub does not run.
    const stopped = hubs.splice(1)
    await this.#logs.hold(entries)
    this.#mostMib = 0
    const watch = setInterval(() => this.#lookAtHubs(), 100)
    let isOver = false
    const released = this.#logs.release().finally(() => {
      isOver = true
    })
    while (!isOver) {
      await changes.create()
      await changes.revoke(ledger.keys.at(-1)!)
      await delay(CATCH_UP_PAUSE_MS)
    }
    clearInterval(watch)
    hubs.push(...stopped)
    const seconds = (await released) / 1000
    return {
      entries: entries * sidecars,
      seconds: Math.round(seconds * 10) / 10,
      entries_per_second: Math.round((entries * sidecars) / seconds),
      answer_ms: spreadOf(changes.answersMs),
      most_rss_mib: Math.round(this.#mostMib),
    }
  }

  async #changeQuietly(changes: ChaosChanges, ledger: ChaosLedger): Promise<void> {
    for (let made = 0; made < FIRST_KEYS; made++) await changes.create()
    const revoked = this.#options.isQuick ? FIRST_KEYS / 2 : FIRST_KEYS
    for (const key of ledger.keys.slice(0, revoked)) {
      await changes.revoke(key)
      if (ledger.keys.filter(({ isRevoked }) => !isRevoked).length < FIRST_KEYS) await changes.create()
    }
  }

  async #takeSteps(changes: ChaosChanges, faults: ChaosFaults, ledger: ChaosLedger): Promise<void> {
    const { isQuick, steps } = this.#options
    const endMs = performance.now() + (isQuick ? QUICK_MS : Number.POSITIVE_INFINITY)
    const isOver = () => ledger.step >= steps || performance.now() > endMs
    const work = async () => {
      while (!isOver()) {
        ledger.step++
        if (this.#random() < FAULT_SHARE) {
          faults.disturb()
          await delay(this.#random() * 50)
        } else await changes.change()
      }
    }
    const watch = setInterval(() => this.#look(ledger), 100)
    const progress = setInterval(
      () =>
        note(
          `step ${ledger.step}, ${ledger.violationCount} violations, hubs ≤ ${Math.round(this.#mostMib)} MiB`,
        ),
      10_000,
    )
    try {
      await Promise.all(Array.from({ length: WORKERS }, work))
    } finally {
      clearInterval(watch)
      clearInterval(progress)
    }
  }

  /** Seals calls, and compares a key that nobody changes, at a time that has nothing to do with a change. */
  #look(ledger: ChaosLedger): void {
    const settled = ledger.keys.filter(({ isBusy, unconfirmed }) => !isBusy && unconfirmed !== null)
    if (settled.length > 0) ledger.check(oneOf(settled, this.#random), 'later')
    for (let sealed = 0; sealed < SEALED_AT_ONCE; sealed++) oneOf(this.#sidecars, this.#random).seal(3)
    oneOf(this.#sidecars, this.#random).sign()
    this.#lookAtHubs()
  }

  #lookAtHubs(): void {
    for (const { child } of this.#fleet.hubs)
      try {
        this.#mostMib = Math.max(this.#mostMib, residentMib(child.pid) || 0)
      } catch {
        // It was killed.
      }
  }

  /** Everything works again: soon every sidecar has the same. @returns after how long */
  async #converge(ledger: ChaosLedger): Promise<number> {
    const startedMs = performance.now()
    const agree = () =>
      NAMESPACES.every((namespace) => {
        const states = this.#sidecars
          .filter((one) => one.namespace === namespace)
          .map(
            ({ memory, isConnected }) =>
              `${isConnected} ${memory?.keys.position?.rev} ${memory?.keys.stateHash}`,
          )
        return new Set(states).size <= 1 && states[0]?.startsWith('true') !== false
      })
    await until('all agree', agree, CONVERGED_MS).catch(() => {
      const problems = new Set(this.#sidecars.flatMap(({ problem }) => problem ?? []))
      ledger.violate('all agree in the end', [...problems].slice(0, 3).join('; '))
    })
    // Keys whose last change nobody knows are not compared.
    ledger.checkAll('in the end')
    return Math.round(performance.now() - startedMs)
  }

  /** Kills all at once, and compares what they have on disk. */
  #restartAll(ledger: ChaosLedger): void {
    for (const one of this.#sidecars) {
      one.kill()
      one.start()
    }
    ledger.checkAll('after a restart')
    for (const one of this.#sidecars) one.kill()
  }
}

async function cookieAt(url: string, token: string): Promise<string> {
  const response = await fetchInTime(`${url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const [cookie = ''] = response.headers.getSetCookie()
  return cookie.split(';', 1)[0]!
}

const note = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

async function runChaos(): Promise<number> {
  const options = readOptions()
  note(`seed ${options.seed}`)
  const chaos = new Chaos(options)
  const signal = new Promise<never>((_, reject) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const)
      process.on(name, () => reject(new Error(`stopped by ${name}`)))
  })
  try {
    return report(await Promise.race([chaos.run(), signal]), options.json)
  } catch (error) {
    note(`fleet:chaos: ${(error as Error).message} (seed ${options.seed})`)
    return 1
  } finally {
    await chaos.stop()
  }
}

process.exit(await runChaos())
