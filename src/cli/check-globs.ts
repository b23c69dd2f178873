// The part of `sidegate check` for globs of the configuration: paths that pass without a scan,
// models of keys and upstreams, and claims of tokens.

import { API_PATHS, KEPT_PATHS } from '../chat/apis.ts'
import type { Config, ConfigReading } from '../core/config.ts'
import { isAmong } from '../core/config-document.ts'
import { normalisePath } from '../core/request-path.ts'
import { compilePathGlob, coversBelow } from '../policy/glob.ts'
import { whyOddGlob } from '../policy/odd-glob.ts'
import type { Remark } from '../rulecheck/report.ts'

const TAKES_ALL =
  'takes every token of the issuer with these claims, with any values; name a claim that only your tokens have'

/** Returns the warnings on the globs of a configuration. */
export function checkGlobs(
  { problemAt, problems }: Pick<ConfigReading, 'problemAt' | 'problems'>,
  { passThrough, upstreams, keys }: Pick<Config, 'passThrough' | 'upstreams' | 'keys'>,
): readonly Remark[] {
  const remarks: Remark[] = []
  const warn = (path: readonly (string | number)[], message: string | null) => {
    if (message !== null) remarks.push({ severity: 'warning', problem: problemAt(path, message) })
  }
  for (const { declaredAt, path } of passThrough) {
    warn([...declaredAt, 'path'], whyUnmatched(path))
    warn([...declaredAt, 'path'], whyTooWide(path))
  }
  for (const { declaredAt, models } of upstreams)
    models.forEach((glob, index) => {
      warn([...declaredAt, 'models', index], whyOddGlob(glob, 'models'))
    })
  // Indices differ from the file's if invalid keys were removed.
  if (isAmong(problems, ['keys'])) return remarks
  keys.forEach(({ terms, token }, key) => {
    if (token?.claims.every(([, glob]) => /^\*+$/.test(glob)) === true)
      warn(['keys', key, 'jwt', 'claims'], TAKES_ALL)
    terms.models?.forEach((glob, index) => {
      warn(['keys', key, 'models', index], whyOddGlob(glob.replace(/^!/, ''), 'models'))
    })
  })
  return remarks
}

/** Returns why no request has a path of a glob, or null. */
function whyUnmatched(glob: string): string | null {
  if (/\?[^/]*=/.test(glob))
    return 'holds a query: `?` matches one character of a path; remove it, since the query of a call is forwarded'
  // A letter in place of each wildcard makes one of the paths that the glob is for.
  const path = glob.replace(/[*?]+/g, 'a')
  const normal = normalisePath(path)
  if (normal === null)
    return 'never matches: a path with an empty or dot segment, an encoded slash, `\\`, `;`, `#` or a character that nobody sees is refused; write the path that the provider serves'
  return normal === path
    ? null
    : `never matches, because the normal form of a path is compared, such as \`${normal}\``
}

/** Returns which endpoints that are scanned a glob covers, or null. */
function whyTooWide(path: string): string | null {
  const glob = path.toLowerCase()
  const covered = [
    ...API_PATHS.filter(compilePathGlob(glob)),
    ...KEPT_PATHS.filter((kept) => coversBelow(glob, kept)).map((kept) => `${kept}/…`),
  ]
  return covered.length === 0
    ? null
    : `covers ${covered.join(', ')}, which is never forwarded without a scan; narrow the glob`
}
