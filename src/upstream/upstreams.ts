// Chooses the upstreams of a call and forwards it, to the next one when one fails. A call needs a
// Permit, which only decide() makes.

import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { ApiFamily, StreamUsage, UpstreamConfig } from '../core/upstream-config.ts'
import { type Permit, type PermittedRequest, usePermit } from '../policy/decide.ts'
import { compileGlob } from '../policy/glob.ts'
import { CircuitBreaker } from './breaker.ts'
import { readBeginning } from './first-event.ts'
import { type Cancellation, type ForwardedCall, Upstream } from './forward.ts'
import type { UpstreamResponse } from './response.ts'

/** Where a call may go. */
export interface Route {
  /** Name of the upstream. */
  readonly upstream: string
  /** The model by the name that the upstream knows. */
  readonly model: string
  readonly streamUsage: StreamUsage
}

/** A call that is forwarded, as far as forwarding knows it. */
export interface RoutedCall extends ForwardedCall {
  /** Name of the upstream that was asked last; null before. */
  upstream: string | null
  /** The model that it was asked for; empty before, and without a model. */
  sentModel: string
}

/** Receives what happens to upstreams, for metrics. */
export interface UpstreamEvents {
  /** A call was sent. @param result `ok` for any answer that is not a failure */
  asked(upstream: string, result: 'ok' | 'failed'): void
  /** A call passed over an upstream, because its breaker is open. */
  passedOver(upstream: string): void
}

const SILENT: UpstreamEvents = { asked: () => {}, passedOver: () => {} }

/** An upstream with its breaker. */
interface Member {
  readonly config: UpstreamConfig
  readonly upstream: Upstream
  readonly breaker: CircuitBreaker
  readonly serves: (model: string) => boolean
}

/** A limit of the provider; another one may have room. */
const TOO_MANY_REQUESTS = 429

/** All upstreams and their connections. Serves any number of concurrent calls. */
export class Upstreams {
  readonly #members: ReadonlyMap<string, Member>
  readonly #connections: number
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #events: UpstreamEvents
  /** Upstreams that were replaced and have calls under way. */
  #retired: readonly Upstream[] = []

  /**
   * @param connections maximum number of sockets for each upstream, see openConnections
   * @param kept members whose configuration stays
   */
  constructor(
    configs: readonly UpstreamConfig[],
    connections: number,
    clock: Pick<Clock, 'monotonic'>,
    events: UpstreamEvents = SILENT,
    kept: readonly Member[] = [],
  ) {
    this.#connections = connections
    this.#clock = clock
    this.#events = events
    this.#members = new Map(
      configs.map((config) => {
        const member = kept.find((one) => one.config === config)
        return [config.name, member ?? newMember(config, connections, clock)]
      }),
    )
  }

  /**
   * Makes the upstreams of another configuration. One that has the same value here keeps its
   * connections and its breaker. Calls that began with the others finish there, and then their
   * connections close.
   */
  replacedBy(configs: readonly UpstreamConfig[]): Upstreams {
    const members = [...this.#members.values()]
    const next = new Upstreams(configs, this.#connections, this.#clock, this.#events, members)
    const left = members.filter(({ config }) => !configs.includes(config)).map(({ upstream }) => upstream)
    for (const upstream of left) upstream.retire()
    next.#retired = [...this.#retired.filter((one) => !one.isIdle), ...left]
    return next
  }

  get names(): readonly string[] {
    return [...this.#members.keys()]
  }

  /**
   * Returns where a call may go, in order: the first upstream that serves its API and its model,
   * then the fallbacks of that one.
   * @throws GatewayError `model_not_found`
   */
  routesFor(family: ApiFamily, model: string): readonly [Route, ...Route[]] {
    for (const { config, serves } of this.#members.values()) {
      if (!config.apis.includes(family) || !serves(model)) continue
      const others = config.fallback.map((name) => this.#members.get(name)!.config)
      return [routeTo(config, model), ...others.map((other) => routeTo(other, model))]
    }
    throw new GatewayError(
      'model_not_found',
      'No upstream serves this model; GET /v1/models lists the models that are served.',
      { param: 'model' },
    )
  }

  /** The way to one upstream, for any model; null when it is not configured any more. */
  routeTo(name: string, model: string): Route | null {
    const member = this.#members.get(name)
    return member === undefined ? null : routeTo(member.config, model)
  }

  /**
   * Sends what a permit holds: the requests to its first upstream, and after a failure or a 429
   * those to the next. A failure may also be in the first event of a stream, or in a short body.
   * Passes over upstreams whose breaker is open.
   * @throws GatewayError as `Upstream.forward` of the last one that was asked;
   *   `upstream_unavailable` when every breaker is open
   * @throws Error for a permit that was used before
   */
  async forward(
    permit: Permit,
    client: IncomingHttpHeaders,
    cancellation: Cancellation,
    call: RoutedCall,
  ): Promise<UpstreamResponse> {
    const groups = groupByUpstream(usePermit(permit))
    let next = this.#enterFrom(groups, 0)
    if (next === groups.length) throw this.#allOpen(groups)
    for (;;) {
      const group = groups[next]!
      const { upstream, breaker } = this.#member(group)
      call.upstream = group[0]!.upstream
      call.sentModel = group[0]!.model
      let failed: { readonly response: UpstreamResponse } | { readonly error: unknown }
      try {
        const answer = await upstream.forward(group, client, cancellation, call)
        // Without another upstream nothing is read before it is delivered.
        const isPeeked = answer.status < 300 && next + 1 < groups.length
        const { response, hasFailed } = isPeeked
          ? await readBeginning(answer)
          : { response: answer, hasFailed: false }
        const isFailure = hasFailed || response.status >= 500
        this.#note(call.upstream, breaker, isFailure)
        if (!isFailure && response.status !== TOO_MANY_REQUESTS) return response
        failed = { response }
      } catch (error) {
        if (!cancellation.cancelled) this.#note(call.upstream, breaker, true)
        failed = { error }
      }
      next = cancellation.cancelled ? groups.length : this.#enterFrom(groups, next + 1)
      if (next === groups.length) {
        if ('error' in failed) throw failed.error
        return failed.response
      }
      if ('response' in failed) failed.response.discard()
    }
  }

  /** Requests the list of models of one upstream. Sends only the allowed headers of the client. */
  models(
    name: string,
    client: IncomingHttpHeaders,
    cancellation: Cancellation,
    call: ForwardedCall,
  ): Promise<UpstreamResponse> {
    return this.#members.get(name)!.upstream.models(client, cancellation, call)
  }

  /** Names under which clients call a model of an upstream; none for one that is not served. */
  clientNames(name: string, model: string): readonly string[] {
    const { config, serves } = this.#members.get(name)!
    const aliases = Object.entries(config.rename).flatMap(([from, to]) => (to === model ? [from] : []))
    return (aliases.length > 0 ? aliases : [model]).filter(serves)
  }

  /** Upstreams whose breaker is open. */
  get open(): readonly string[] {
    return [...this.#members].flatMap(([name, { breaker }]) => (breaker.isOpen ? [name] : []))
  }

  /** Closes all connections and aborts calls in flight, those of replaced upstreams too. */
  async close(): Promise<void> {
    const upstreams = [...this.#members.values()].map(({ upstream }) => upstream)
    await Promise.all([...upstreams, ...this.#retired].map((upstream) => upstream.close()))
  }

  /** Index of the first group from `start` on whose upstream may be asked. */
  #enterFrom(groups: readonly (readonly PermittedRequest[])[], start: number): number {
    let at = start
    while (at < groups.length && !this.#member(groups[at]!).breaker.enter())
      this.#events.passedOver(groups[at++]![0]!.upstream)
    return at
  }

  #member(group: readonly PermittedRequest[]): Member {
    return this.#members.get(group[0]!.upstream)!
  }

  #note(name: string, breaker: CircuitBreaker, isFailure: boolean): void {
    if (isFailure) breaker.fail()
    else breaker.succeed()
    this.#events.asked(name, isFailure ? 'failed' : 'ok')
  }

  #allOpen(groups: readonly (readonly PermittedRequest[])[]): GatewayError {
    const waitMs = Math.min(...groups.map((group) => this.#member(group).breaker.waitMs))
    return new GatewayError(
      'upstream_unavailable',
      'The upstream failed several times in a row; it is asked again in a moment.',
      { headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) } },
    )
  }
}

const newMember = (config: UpstreamConfig, connections: number, clock: Pick<Clock, 'monotonic'>): Member => ({
  config,
  upstream: new Upstream(config, connections),
  breaker: new CircuitBreaker(config.breaker, clock),
  serves: servedBy(config.models),
})

const routeTo = ({ name, rename, streamUsage }: UpstreamConfig, model: string): Route => ({
  upstream: name,
  model: Object.hasOwn(rename, model) ? rename[model]! : model,
  streamUsage,
})

function servedBy(globs: readonly string[]): (model: string) => boolean {
  if (globs.includes('*')) return () => true
  const tests = globs.map(compileGlob)
  return (model) => tests.some((matches) => matches(model))
}

/** Splits requests where the upstream changes. */
function groupByUpstream(requests: readonly PermittedRequest[]): readonly (readonly PermittedRequest[])[] {
  const groups: PermittedRequest[][] = []
  for (const request of requests) {
    const last = groups.at(-1)
    if (last !== undefined && last[0]!.upstream === request.upstream) last.push(request)
    else groups.push([request])
  }
  return groups
}
