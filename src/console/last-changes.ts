// Who changed a key or a rule, from the sealed changes.

import { useMemo } from 'preact/hooks'
import { useResource } from './resource.ts'

/** Newest changes that are read; older ones have no name on the page, and are in the log. */
const READ_CHANGES = 1000

/** An entry of `GET /api/v1/audit/changes`. */
export type ChangeEntry = Readonly<Record<string, unknown>> & {
  readonly seq: number
  readonly type: string
  readonly created_at: string
  readonly actor?: string
  readonly hash: string
}

export interface ChangeList {
  readonly changes: readonly ChangeEntry[]
  /** Where older entries begin that were not searched: a gateway's number, a hub's cursor. */
  readonly next_before?: number
  readonly next_cursor?: string
}

/**
 * Returns who made the newest change of each key and rule, by id.
 * @param version of the keys or rules that the page shows; null before it is known. The changes are
 * read again when it changes, and not at an interval: a thousand take the gateway some 15 ms
 */
export function useActors(version: string | null): ReadonlyMap<string, string> {
  const path = version === null ? null : `/audit/changes?limit=${READ_CHANGES}`
  const { data } = useResource<ChangeList>(path, undefined, version ?? '')
  return useMemo(() => {
    const actors = new Map<string, string>()
    for (const { actor, rule_id, key_id } of data?.changes ?? []) {
      const id = rule_id ?? key_id
      if (typeof id === 'string' && actor !== undefined && !actors.has(id)) actors.set(id, actor)
    }
    return actors
  }, [data])
}
