// The paths that are forwarded without a scan, as the configuration lists them.

import type { Context } from './config-values.ts'
import type { Path } from './document.ts'
import { areAllNamed, type UpstreamConfig } from './upstream-config.ts'

export const PASS_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export type PassMethod = (typeof PASS_METHODS)[number]

export interface PassThroughRule {
  /** Where the file declares it. */
  readonly declaredAt: Path
  /** A glob of paths: `/v1/images/*`. */
  readonly path: string
  readonly methods: readonly PassMethod[]
  /** Name of the upstream. */
  readonly upstream: string
}

/** As declared. A path is missing only in an invalid file. */
export interface DeclaredPassThrough {
  readonly path?: string
  readonly methods: readonly PassMethod[]
  readonly upstream?: string
}

/** Reads the list. Reports errors to the context. */
export function readPassThrough(
  context: Context,
  declared: readonly DeclaredPassThrough[],
  upstreams: readonly UpstreamConfig[],
): readonly PassThroughRule[] {
  const first = upstreams.find(({ apis }) => apis.includes('openai'))?.name
  const areKnown = upstreams.length > 0 && areAllNamed(context)
  return declared.flatMap((rule, index) => {
    const { path, methods, upstream = first ?? '' } = rule
    const at = ['passThrough', index]
    if (areKnown && !upstreams.some(({ name }) => name === upstream))
      context.add(
        [...at, 'upstream'],
        rule.upstream === undefined
          ? 'is required, because no upstream has api: openai'
          : `names no upstream; the names are ${upstreams.map(({ name }) => name).join(', ')}`,
      )
    return path === undefined ? [] : [{ declaredAt: context.origin(at), path, methods, upstream }]
  })
}
