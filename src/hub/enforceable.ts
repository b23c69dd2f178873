// Which connected sidecars cannot enforce what a hub is to send them, because they are of an older
// release.

import type { SidecarRow } from '../ledger/sidecar-ledger.ts'
import { isForNamespace } from './namespaces.ts'

/** Most names of sidecars in an error. */
const MAXIMUM_NAMES = 20

/** What sidecars of some namespaces must know. */
export interface Needs {
  readonly features: readonly string[]
  /** Globs; null for every namespace. */
  readonly namespaces: readonly string[] | null
}

/** Why some of what is to be sent cannot be enforced everywhere. */
export interface Unenforceable {
  /** A sentence without its full stop that names the sidecars. */
  readonly message: string
  /** Place of the first of the needs that a sidecar lacks. */
  readonly place: number
}

/** Sidecars that differ in nothing that counts here. */
interface AlikeSidecars {
  readonly namespace: string
  readonly features: ReadonlySet<string>
  readonly names: string[]
}

/**
 * Returns null when all connected sidecars can enforce what they are to get. Many rules have the
 * same needs, and many sidecars are alike: each pair is looked at once.
 */
export function whyNotEnforceable(
  rows: readonly SidecarRow[],
  needs: readonly Needs[],
): Unenforceable | null {
  const sidecars = alike(rows)
  const seen = new Set<string>()
  const missing = new Set<string>()
  const without = new Set<string>()
  let first: number | null = null
  for (const [place, { features, namespaces }] of needs.entries()) {
    const key = JSON.stringify([features, namespaces])
    if (seen.has(key)) continue
    seen.add(key)
    for (const one of sidecars) {
      const lacks = features.filter((name) => !one.features.has(name))
      if (lacks.length === 0 || !isForNamespace(namespaces, one.namespace)) continue
      first ??= place
      for (const name of lacks) missing.add(name)
      for (const name of one.names) without.add(name)
    }
  }
  if (first === null) return null
  const names = [...without].sort().slice(0, MAXIMUM_NAMES).join(', ')
  const rest = without.size > MAXIMUM_NAMES ? ', …' : ''
  return {
    message: `These sidecars cannot enforce ${[...missing].join(', ')}: ${names}${rest}`,
    place: first,
  }
}

/** Returns the connected sidecars. */
function alike(rows: readonly SidecarRow[]): AlikeSidecars[] {
  const known = new Map<string, AlikeSidecars>()
  for (const { hub, is_registered, namespace, features, name } of rows) {
    if (hub === null || !is_registered) continue
    const key = JSON.stringify([namespace, features])
    const one = known.get(key)
    if (one === undefined) known.set(key, { namespace, features: new Set(features), names: [name] })
    else one.names.push(name)
  }
  return [...known.values()]
}
