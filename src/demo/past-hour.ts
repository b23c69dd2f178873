// Fills the log of the demo with an hour of calls. Each is made at the gateway, which decides and
// seals it as any other; only its clock leaps. The calls are the same at every start.

import { type Milliseconds, systemClock } from '../core/clock.ts'
import { seededRandom } from '../core/seeded-random.ts'
import type { DemoClock } from './demo-clock.ts'
import { APPS, type DemoApp, INCIDENTS, PAST_RULES, STAND_IN } from './past-apps.ts'
import { makeCall, type PastCall } from './past-call.ts'
import type { StandIn } from './stand-in-server.ts'

const MINUTE_MS: Milliseconds = 60_000
const HOUR_MS: Milliseconds = 60 * MINUTE_MS
/** How far back the past begins. The last hour of the console has all of it. */
export const PAST_MS: Milliseconds = HOUR_MS - MINUTE_MS
/** The last call begins before the end, so that it also ends in it. */
const CALLS_MS: Milliseconds = PAST_MS - MINUTE_MS / 2
/** Longest time of this machine that the hour takes; a slow disk gets fewer calls. */
const MAXIMUM_FILL_MS: Milliseconds = 15_000
/** Time between calls of an incident. */
const ROW_MS: Milliseconds = 700
/** Depth of the waves in which apps call, as a part of the hour. */
const WAVE = 0.06
const SEED = 60

interface PastParts {
  /** Address of the gateway. */
  readonly baseUrl: string
  readonly adminToken: string
  readonly clock: DemoClock
  readonly standIn: StandIn
}

/**
 * Makes the calls, and leaves the clock at the time of the system.
 * @throws Error (rejects) when the management API refuses a key or a rule
 */
export async function fillPastHour({ baseUrl, adminToken, clock, standIn }: PastParts): Promise<void> {
  const endMs = systemClock.monotonic() + MAXIMUM_FILL_MS
  try {
    const keys = await setUp(new Management(baseUrl, adminToken))
    const startMs = systemClock.now() - PAST_MS
    for (const call of timetable()) {
      if (systemClock.monotonic() > endMs) break
      clock.leap(startMs + call.atMs - clock.now())
      standIn.act(call)
      await makeCall(baseUrl, keys.get(call.app) ?? '', call)
    }
  } finally {
    standIn.act(null)
    clock.catchUp()
  }
}

/** Creates the keys and the rules, signed in as an administrator. @returns keys by name */
async function setUp(management: Management): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>()
  await management.signIn()
  for (const { name, team, owner, models } of APPS) {
    const labels = { ...STAND_IN, team }
    const { key } = await management.send('POST', 'keys', { name, owner, labels, models: models ?? null })
    keys.set(name, String(key))
  }
  for (const rule of PAST_RULES) await management.send('POST', 'rules', rule)
  await management.send('DELETE', 'session')
  return keys
}

/** A session of the management API. */
class Management {
  readonly #baseUrl: string
  readonly #token: string
  #cookie = ''

  constructor(baseUrl: string, token: string) {
    this.#baseUrl = baseUrl
    this.#token = token
  }

  async signIn(): Promise<void> {
    await this.send('POST', 'session', { token: this.#token })
  }

  async send(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    const answer = await fetch(`${this.#baseUrl}/api/v1/${path}`, {
      method,
      headers: { 'content-type': 'application/json', cookie: this.#cookie },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!answer.ok)
      throw new Error(`the stand-in data: ${method} ${path} is ${answer.status}: ${await answer.text()}`)
    this.#cookie = answer.headers.get('set-cookie')?.split(';', 1)[0] ?? this.#cookie
    return (await answer.json()) as Readonly<Record<string, unknown>>
  }
}

/** All calls, in order of time. */
function timetable(): readonly PastCall[] {
  const random = seededRandom(SEED)
  const usual = APPS.flatMap((app) => callsOf(app, random))
  const incidents = INCIDENTS.flatMap(({ minute, times = 1, ...call }) =>
    Array.from({ length: times }, (_, index) => ({ ...call, atMs: minute * MINUTE_MS + index * ROW_MS })),
  )
  return [...usual, ...incidents].sort((one, other) => one.atMs - other.atMs)
}

function callsOf(app: DemoApp, random: () => number): PastCall[] {
  const { name, calls, asks, users, runs } = app
  return Array.from({ length: calls }, (_, index) => {
    const part = (index + random()) / calls
    const atMs = CALLS_MS * (part - WAVE * Math.sin(4 * Math.PI * part))
    return {
      ...asks[index % asks.length]!,
      atMs,
      app: name,
      ...(users !== undefined && { user: `customer-${1 + Math.floor(random() * users)}` }),
      ...(runs !== undefined && { run: `task-${1 + Math.floor((index * runs) / calls)}` }),
    }
  })
}
