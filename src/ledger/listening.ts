// A connection that receives notifications. It is opened again when it is lost, and a trial shows
// whether notifications arrive: a transaction pooler takes LISTEN and delivers none.

import pg from 'pg'
import type { Milliseconds } from '../core/clock.ts'

const CONNECT_MS: Milliseconds = 5000
/** Wait before a lost connection is opened again. */
const RETRY_MS: Milliseconds = 1000
/** Interval of trials; a server that restarts may leave a connection open that is dead. */
const TRIAL_MS: Milliseconds = 5000
/** Time for the notification of a trial. */
const ANSWER_MS: Milliseconds = 2000
/** The channel of trials. */
const TRIAL_CHANNEL = 'sidegate_trial'

export interface ListenEvents {
  /** Called with the channel and the payload of each notification. */
  readonly onNotification: (channel: string, payload: string) => void
  /** Called when notifications begin to arrive, and when they no longer do. */
  readonly onState: (isListening: boolean) => void
}

export class Listening {
  readonly #url: string
  readonly #channels: readonly string[]
  readonly #events: ListenEvents
  #client: pg.Client | null = null
  #timer: NodeJS.Timeout | null = null
  /** Null before the first trial. */
  #isListening: boolean | null = null
  #isTried = true
  #isClosed = false

  constructor(url: string, channels: readonly string[], events: ListenEvents) {
    this.#url = url
    this.#channels = channels
    this.#events = events
    void this.#open()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#client?.end().catch(() => {})
  }

  async #open(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
      keepAlive: true,
      application_name: 'sidegate-hub listen',
    })
    let isLost = false
    const lose = () => {
      if (isLost) return
      isLost = true
      this.#client = null
      client.end().catch(() => {})
      if (this.#isClosed) return
      this.#turn(false)
      this.#later(() => void this.#open(), RETRY_MS)
    }
    client.on('error', lose)
    client.on('end', lose)
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === TRIAL_CHANNEL) this.#pass()
      else this.#events.onNotification(channel, payload)
    })
    try {
      await client.connect()
      if (this.#isClosed) return await client.end()
      this.#client = client
      for (const channel of [...this.#channels, TRIAL_CHANNEL]) await client.query(`listen ${channel}`)
      await this.#try(client)
    } catch {
      lose()
    }
  }

  /** Sends this connection a notification, again and again. @throws the client's error (rejects) */
  async #try(client: pg.Client): Promise<void> {
    this.#isTried = false
    await client.query(`select pg_notify('${TRIAL_CHANNEL}', '')`)
    this.#later(() => {
      if (!this.#isTried) this.#turn(false)
      this.#later(
        () => void this.#try(client).catch(() => client.emit('error', new Error('no answer'))),
        TRIAL_MS,
      )
    }, ANSWER_MS)
  }

  #pass(): void {
    this.#isTried = true
    this.#turn(true)
  }

  #turn(isListening: boolean): void {
    if (isListening === this.#isListening) return
    this.#isListening = isListening
    this.#events.onState(isListening)
  }

  #later(action: () => void, delayMs: Milliseconds): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(action, delayMs).unref()
  }
}
