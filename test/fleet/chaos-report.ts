// What a run of the chaos found, for a terminal and as JSON.

import { writeFileSync } from 'node:fs'
import type { Violation } from './chaos-ledger.ts'
import type { LimitsResult } from './chaos-limits.ts'

/** Most resident memory of a hub with 1,000 feeds. */
const MAXIMUM_HUB_MIB = 256
/** Most resident memory of a hub that takes the entries of an outage. */
const MAXIMUM_CATCH_UP_MIB = 512
/** Longest time in which a hub takes the entries of an outage of ten minutes, seconds. */
const MAXIMUM_CATCH_UP_SECONDS = 60
/** Longest p99 of the answer to a revocation. */
const MAXIMUM_P99_MS = 1000
/** Least part of what one process admits that the fleet uses of a limit. */
const MINIMUM_OF_ONE_PROCESS = 0.95
/** Goal of the CPU of an idle hub with 1,000 feeds, percent of a core. */
const GOAL_HUB_PERCENT = 6

export interface Spread {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Returns percentiles of times, milliseconds. */
export function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((one, other) => one - other)
  const at = (share: number) => round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}

const round = (value: number): number => Math.round(value * 10) / 10

/** What a hub with all feeds takes. */
export interface HubFigures {
  readonly feeds: number
  readonly idle_cpu_percent: number
  readonly rss_mib: number
}

export interface ChaosResult {
  readonly seed: number
  readonly sidecars: number
  readonly steps: number
  readonly seconds: number
  readonly changes: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  readonly checks: number
  readonly calls: number
  readonly violations: number
  readonly first_violations: readonly Violation[]
  /** Before any fault. */
  readonly quiet: { readonly answer_ms: Spread; readonly in_force_ms: Spread }
  readonly chaos: {
    readonly answer_ms: Spread
    readonly in_force_ms: Spread
    readonly unavailable: number
    readonly unanswered: number
    /** Delay of this process, which answers for all simulated sidecars: part of the times above. */
    readonly simulator_lag_p99_ms: number
    readonly simulator_lag_max_ms: number
  }
  /** All sidecars sent the entries of an outage to one hub. */
  readonly catch_up: {
    readonly entries: number
    readonly seconds: number
    readonly entries_per_second: number
    readonly answer_ms: Spread
    readonly most_rss_mib: number
  }
  readonly limits: LimitsResult
  /** The logs in the database in the end. */
  readonly logs: {
    readonly count: number
    readonly entries: number
    readonly checkpoints: number
    readonly verified_seconds: number
  }
  readonly hub: {
    readonly before: HubFigures
    readonly after: HubFigures
    readonly most_rss_mib: number
  }
  readonly sidecar_idle_cpu_ms_per_s: number
  readonly connect_ms: number
  readonly converged_ms: number
}

/** Writes the result to a file, if one is named, and prints it. @returns the exit code */
export function report(result: ChaosResult, file: string | undefined): number {
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`)
  for (const [name = '', text] of linesOf(result)) console.log(`${name.padEnd(19)}${text}`)
  const wanted = wantedOf(result)
  for (const [what, isRight] of wanted) console.log(`${isRight ? 'ok    ' : 'FAILED'} ${what}`)
  const isGoal = result.hub.before.idle_cpu_percent <= GOAL_HUB_PERCENT
  console.log(`${isGoal ? 'ok    ' : 'missed'} goal: an idle hub takes ≤ ${GOAL_HUB_PERCENT} % of a core`)
  for (const { step, rule, detail } of result.first_violations)
    console.log(`violation at step ${step}: ${rule}: ${detail}`)
  return wanted.every(([, isRight]) => isRight) ? 0 : 1
}

function linesOf(result: ChaosResult): string[][] {
  const { quiet, chaos, hub, catch_up: catchUp, limits, logs } = result
  const ms = ({ p50, p99, max, count }: Spread) => `p50 ${p50}, p99 ${p99}, max ${max} ms of ${count}`
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')
  const usage = ({ feeds, rss_mib, idle_cpu_percent }: HubFigures) =>
    `${feeds} feeds: ${rss_mib} MiB, idle ${idle_cpu_percent} % of a core`
  return [
    ['seed', String(result.seed)],
    ['steps', `${result.steps} in ${result.seconds} s with ${result.sidecars} sidecars`],
    ['changes', list(result.changes)],
    ['faults', list(result.faults)],
    ['checks', `${result.checks} decisions, of these ${result.calls} calls over HTTP`],
    ['revocation, quiet', `answered after ${ms(quiet.answer_ms)}`],
    ['', `in force on all after ${ms(quiet.in_force_ms)}`],
    ['revocation, chaos', `answered after ${ms(chaos.answer_ms)}`],
    ['', `in force on all after ${ms(chaos.in_force_ms)}`],
    [
      '',
      `the simulator itself was late by p99 ${chaos.simulator_lag_p99_ms}, max ${chaos.simulator_lag_max_ms} ms`,
    ],
    [
      'catch-up',
      `${catchUp.entries} entries in ${catchUp.seconds} s, ${catchUp.entries_per_second} a second, hub ≤ ${catchUp.most_rss_mib} MiB`,
    ],
    ['', `revocations meanwhile answered after ${ms(catchUp.answer_ms)}`],
    ...limits.limits.map(({ limit, calls, most, of_one_process }) => [
      'limit',
      `${limit}: ${calls} calls, at most ${most} of it in a window; without faults ${of_one_process} of what one process admits`,
    ]),
    [
      '',
      `covered: ${list(limits.covered)}; ${limits.requests_per_second} requests a second, ${limits.failed_requests} failed`,
    ],
    [
      'logs',
      `${logs.count} with ${logs.entries} entries and ${logs.checkpoints} cosigned checkpoints; verified in ${logs.verified_seconds} s`,
    ],
    ['tried again', `${chaos.unavailable} answers 503, ${chaos.unanswered} without an answer`],
    ['hub, before', usage(hub.before)],
    ['hub, after', usage(hub.after)],
    ['hub, most', `${hub.most_rss_mib} MiB`],
    ['sidecar, idle', `${result.sidecar_idle_cpu_ms_per_s} ms of CPU a second`],
    [
      'all connected',
      `after ${result.connect_ms} ms; after the chaos all agreed within ${result.converged_ms} ms`,
    ],
  ]
}

/** What must be so, and whether it is. */
function wantedOf({ violations, quiet, hub, limits, catch_up: catchUp }: ChaosResult): [string, boolean][] {
  return [
    [`${violations} violations, must be 0`, violations === 0],
    [`p99 of an answer < ${MAXIMUM_P99_MS} ms (quiet)`, quiet.answer_ms.p99 < MAXIMUM_P99_MS],
    [
      `${catchUp.entries} entries taken within ${MAXIMUM_CATCH_UP_SECONDS} s`,
      catchUp.seconds <= MAXIMUM_CATCH_UP_SECONDS,
    ],
    ...limits.limits.flatMap(({ limit, windows_over: over, of_one_process }): [string, boolean][] => [
      [`${over} windows of ${limit} over its limit, must be 0`, over === 0],
      [
        `the fleet uses ≥ ${MINIMUM_OF_ONE_PROCESS} of what one process admits of ${limit}`,
        of_one_process >= MINIMUM_OF_ONE_PROCESS,
      ],
    ]),
    [`meanwhile p99 of an answer < ${MAXIMUM_P99_MS} ms`, catchUp.answer_ms.p99 < MAXIMUM_P99_MS],
    [`meanwhile a hub ≤ ${MAXIMUM_CATCH_UP_MIB} MiB`, catchUp.most_rss_mib <= MAXIMUM_CATCH_UP_MIB],
    [
      `a hub with ${hub.before.feeds} feeds ≤ ${MAXIMUM_HUB_MIB} MiB`,
      Math.max(hub.before.rss_mib, hub.after.rss_mib) <= MAXIMUM_HUB_MIB,
    ],
  ]
}
