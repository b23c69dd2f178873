// How a program reads its configuration again while it runs: the text of the file, and the files
// that are read only together with it.

import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import type { JsonObject } from './json.ts'
import type { Problem } from './problem.ts'
import type { DeclaredUpstream, UpstreamConfig } from './upstream-config.ts'

/** A file that the configuration names and whose content is part of it. */
export interface IncludedFile {
  /** Absolute. */
  readonly path: string
  readonly digest: string
}

/** What a program compares when its configuration file changes. */
export interface ComparableReading<C> {
  /** Usable only if there are no problems. */
  readonly config: C | null
  readonly problems: readonly Problem[]
  /** The file's values with defaults, and digests of included files; null without a valid part. */
  readonly settings: JsonObject | null
  readonly included: readonly IncludedFile[]
}

/** The file of a reading. */
export interface ConfigSource<Reading> {
  readonly file: string
  readonly text: string
  /** Checks another text of the file. */
  parse(text: string): Reading
}

/** Identifies the content of an included file; white space around it does not count. */
export const contentDigest = (text: string): string => hash('sha256', text.trim())

interface DeclaredUpstreams {
  readonly upstream?: Pick<DeclaredUpstream, 'tls'>
  readonly upstreams?: readonly Pick<DeclaredUpstream, 'tls'>[]
}

/**
 * Returns what of a file is compared.
 * @param folder of the file
 * @param declared its valid part with defaults
 * @param upstreams the declared ones as read, in the same order
 */
export function comparable(
  folder: string,
  declared: DeclaredUpstreams,
  upstreams: readonly Pick<UpstreamConfig, 'tls'>[],
): Pick<ComparableReading<unknown>, 'settings' | 'included'> {
  const { upstream, upstreams: list = upstream === undefined ? [] : [upstream] } = declared
  const included: IncludedFile[] = []
  const written = list.map((one, index) => {
    const tls = Object.entries(upstreams[index]?.tls ?? {}).map(([name, text]) => {
      const file = one.tls[name as keyof typeof one.tls] ?? ''
      const digest = contentDigest(text)
      included.push({ path: resolve(folder, file), digest })
      return [name, `${file} ${digest}`]
    })
    return { ...one, tls: Object.fromEntries(tls) }
  })
  const compared = declared.upstreams === undefined ? { upstream: written[0] } : { upstreams: written }
  return { settings: { ...declared, ...compared } as unknown as JsonObject, included }
}
