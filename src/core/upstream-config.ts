// Reads the upstreams of the configuration, and checks what the schema cannot.

import type { Milliseconds } from './clock.ts'
import {
  type Context,
  readBaseUrl,
  readCredential,
  readProxy,
  readSecret,
  type SecretReference,
} from './config-values.ts'
import { formatPath, type Path } from './document.ts'
import { fixedSecret, type Secret } from './secret.ts'
import { MAXIMUM_UPSTREAMS } from './upstream-schema.ts'

/** Providers by the endpoints that they serve. */
export type ApiFamily = 'openai' | 'anthropic'

/**
 * Whether a stream asks the upstream for its usage: `auto` asks, and gives in when that is refused.
 */
export type StreamUsage = 'auto' | 'always' | 'never'

export interface UpstreamConfig {
  /** Where the file declares it. */
  readonly declaredAt: Path
  readonly name: string
  readonly apis: readonly ApiFamily[]
  /** Without a trailing slash. May hold `{model}`. */
  readonly baseUrl: string
  readonly query: Readonly<Record<string, string>>
  readonly apiKey: Secret | null
  readonly auth: 'bearer' | 'none' | { readonly header: string }
  /** Globs. */
  readonly models: readonly string[]
  readonly rename: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, Secret>>
  readonly forwardHeaders: readonly string[]
  /** URL of the HTTP proxy to connect through; null without one. */
  readonly proxy: Secret | null
  readonly timeouts: {
    readonly connectMs: Milliseconds
    readonly headersMs: Milliseconds
    readonly idleMs: Milliseconds
  }
  readonly retries: { readonly attempts: number }
  readonly streamUsage: StreamUsage
  /** PEM. */
  readonly tls: { readonly ca?: string; readonly certificate?: string; readonly key?: string }
  /** Names of upstreams, in order. */
  readonly fallback: readonly string[]
  /** Null when calls never pass it over. */
  readonly breaker: { readonly failures: number; readonly openSeconds: number } | null
}

/** An upstream as declared, with defaults. */
export interface DeclaredUpstream
  extends Omit<
    UpstreamConfig,
    'apis' | 'declaredAt' | 'apiKey' | 'baseUrl' | 'breaker' | 'headers' | 'proxy'
  > {
  readonly api?: ApiFamily
  readonly baseUrl?: string
  readonly apiKey?: SecretReference
  readonly proxy?: SecretReference
  readonly headers: Readonly<Record<string, string | SecretReference>>
  readonly breaker?: UpstreamConfig['breaker']
}

/** Name of the upstream that the short form declares. */
const ONLY = 'default'

/** The breaker of an upstream with a fallback that declares none. */
const BREAKER = { failures: 5, openSeconds: 30 } as const

/** Reads `upstream` or `upstreams`. Reports errors to the context. */
export function readUpstreams(
  context: Context,
  one: DeclaredUpstream | undefined,
  several: readonly DeclaredUpstream[] | undefined,
): readonly UpstreamConfig[] {
  if (several === undefined) {
    if (one === undefined) context.add(['upstream'], 'is required; declare upstream.baseUrl, or upstreams')
    const only = { ...one, name: ONLY, models: ['*'], fallback: [] } as unknown as DeclaredUpstream
    return one === undefined ? [] : [readUpstream(context, ['upstream'], only)]
  }
  if (one !== undefined) context.add(['upstream'], 'must not be next to upstreams; move it into the list')
  const upstreams = several.map((declared, index) => readUpstream(context, ['upstreams', index], declared))
  checkNames(context, upstreams)
  checkFallbacks(context, upstreams)
  checkModels(context, upstreams)
  return upstreams
}

function readUpstream(context: Context, path: Path, declared: DeclaredUpstream): UpstreamConfig {
  const { api, fallback, breaker = fallback.length > 0 ? BREAKER : null, tls } = declared
  const headers = Object.entries(declared.headers).map(([name, value]) => {
    const secret =
      typeof value === 'string'
        ? fixedSecret(value)
        : readSecret(context, [...path, 'headers', name], value, HEADER_HINT)
    return [name, secret ?? fixedSecret('')]
  })
  if ((tls.certificate === undefined) !== (tls.key === undefined))
    context.add([...path, 'tls'], 'needs both certificate and key, or neither')
  return {
    ...declared,
    declaredAt: context.origin(path),
    apis: api === undefined ? ['openai', 'anthropic'] : [api],
    baseUrl: readBaseUrl(context, path, declared.baseUrl ?? ''),
    apiKey: readCredential(context, path, declared.apiKey),
    proxy: readProxy(context, path, declared.proxy),
    headers: Object.fromEntries(headers),
    tls: Object.fromEntries(
      Object.entries(tls).map(([name, file]) => [name, readPem(context, [...path, 'tls', name], file)]),
    ),
    breaker,
  }
}

const HEADER_HINT = 'set it to the value of the header'
const PEM_HINT = 'mount the file in PEM'

function readPem(context: Context, path: Path, file: string): string {
  const secret = readSecret(context, path, { file }, PEM_HINT)
  if (secret === null) return ''
  const text = secret.current()
  if (!text.includes('-----BEGIN '))
    context.add(path, `file ${file} is not PEM; it must hold -----BEGIN …-----`)
  return text
}

function checkNames({ add }: Context, upstreams: readonly UpstreamConfig[]): void {
  const first = new Map<string, number>()
  upstreams.forEach(({ name }, index) => {
    const other = first.get(name)
    if (other === undefined) first.set(name, index)
    else
      add(
        ['upstreams', index, 'name'],
        `is also the name of ${formatPath(upstreams[other]!.declaredAt)}; rename one of them`,
      )
  })
}

/**
 * Reports whether the name of each declared upstream is known: one with an error may be left out,
 * and what names it is right.
 */
export const areAllNamed = ({ isFaulty }: Pick<Context, 'isFaulty'>): boolean =>
  Array.from({ length: MAXIMUM_UPSTREAMS }, (_, index) => ['upstreams', index]).every(
    (item) => !isFaulty([...item, 'name']) && !isFaulty([...item, 'baseUrl']),
  )

function checkFallbacks(context: Context, upstreams: readonly UpstreamConfig[]): void {
  const { add } = context
  if (!areAllNamed(context)) return
  const byName = new Map(upstreams.map((one) => [one.name, one]))
  upstreams.forEach((upstream, index) => {
    upstream.fallback.forEach((name, position) => {
      const path = ['upstreams', index, 'fallback', position]
      const other = byName.get(name)
      if (other === undefined) {
        add(path, `names no upstream; the names are ${[...byName.keys()].join(', ')}`)
      } else if (leadsTo(other, upstream.name, byName)) {
        add(path, `leads back to ${upstream.name}; remove one of the fallbacks of this circle`)
      } else if (!upstream.apis.every((api) => other.apis.includes(api))) {
        add(path, `serves another api than ${upstream.name}; name an upstream of the same api`)
      }
    })
  })
}

/** Reports whether fallbacks lead from an upstream to a name. Looks at each upstream once. */
function leadsTo(from: UpstreamConfig, name: string, byName: ReadonlyMap<string, UpstreamConfig>): boolean {
  const seen = new Set([from])
  for (const one of seen) {
    if (one.name === name) return true
    for (const next of one.fallback) {
      const other = byName.get(next)
      if (other !== undefined) seen.add(other)
    }
  }
  return false
}

/** An upstream after one that takes every model of its API gets no call, unless as a fallback. */
function checkModels({ add }: Context, upstreams: readonly UpstreamConfig[]): void {
  const named = new Set(upstreams.flatMap(({ fallback }) => fallback))
  upstreams.forEach(({ name, apis, models }, index) => {
    if (named.has(name)) return
    models.forEach((glob, position) => {
      const before = upstreams
        .slice(0, index)
        .find((one) => apis.every((api) => one.apis.includes(api)) && takes(one, glob))
      if (before !== undefined)
        add(
          ['upstreams', index, 'models', position],
          `never matches, because ${before.name} comes first and takes these models; move this upstream up`,
        )
    })
  })
}

const takes = ({ models }: UpstreamConfig, glob: string): boolean =>
  models.some((one) => one === '*' || one === glob)
