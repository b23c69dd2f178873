// The paths that are forwarded without a scan, as the configuration lists them.

import type { Context } from './config-values.ts'
import type { UpstreamConfig } from './upstream-config.ts'

export const PASS_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export type PassMethod = (typeof PASS_METHODS)[number]

export interface PassThroughRule {
  /** A glob of paths: `/v1/images/*`. */
  readonly path: string
  readonly methods: readonly PassMethod[]
  /** Name of the upstream. */
  readonly upstream: string
}

/** As declared. */
export type DeclaredPassThrough = Omit<PassThroughRule, 'upstream'> & { readonly upstream?: string }

/** Paths that the gateway itself serves. */
const OWN = /^\/(?:api|console|openapi)/

/** Reads the list. Reports errors to the context. */
export function readPassThrough(
  { add }: Context,
  declared: readonly DeclaredPassThrough[],
  upstreams: readonly UpstreamConfig[],
): readonly PassThroughRule[] {
  const first = upstreams.find(({ apis }) => apis.includes('openai'))?.name
  return declared.map((rule, index) => {
    const { path, upstream = first ?? '' } = rule
    if (OWN.test(path))
      add(['passThrough', index, 'path'], 'is a path of the gateway; name one of the upstream')
    if (upstreams.length > 0 && !upstreams.some(({ name }) => name === upstream))
      add(
        ['passThrough', index, 'upstream'],
        rule.upstream === undefined
          ? 'is required, because no upstream has api: openai'
          : `names no upstream; the names are ${upstreams.map(({ name }) => name).join(', ')}`,
      )
    return { ...rule, upstream }
  })
}
