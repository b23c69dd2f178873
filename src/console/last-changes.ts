// Who changed a key or a rule last, from the sealed changes.

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
}

/**
 * Returns who made the newest change of each key and rule, by id.
 * @param refreshMs as `useResource`
 */
export function useActors(refreshMs: number): ReadonlyMap<string, string> {
  const { data } = useResource<ChangeList>(`/audit/changes?limit=${READ_CHANGES}`, refreshMs)
  return useMemo(() => {
    const actors = new Map<string, string>()
    for (const { actor, rule_id, key_id } of data?.changes ?? []) {
      const id = rule_id ?? key_id
      if (typeof id === 'string' && actor !== undefined && !actors.has(id)) actors.set(id, actor)
    }
    return actors
  }, [data])
}
