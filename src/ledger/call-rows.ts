// Rows of calls as readings of the log select them, and the view that each has.

import type { SealedRequest } from '../audit/entry.ts'
import type { UsagePage } from '../audit/usage-query.ts'
import { toUsageView } from '../audit/usage-view.ts'
import { userName } from '../audit/user-hash.ts'
import { isObject } from '../core/json.ts'
import { hashText } from './hub-log.ts'
import type { EntryPlace } from './log-scope.ts'

/** Calls that have a view. A hub that checked less may have stored others. */
export const LISTED = 'e.call_id is not null and e.rule_triggers is not null'
/** Columns of a call `p` with its sidecar and its end user, and the joins that they need. */
export const CALL_COLUMNS = `p.created_at, p.log_id, p.seq, p.hash, p.body, coalesce(s.name, h.sidecar) as sidecar,
  u.hash as user_hash, u.clear as user_clear`
export const CALL_JOINS = `left join log_head h on h.log_id = p.log_id left join sidecar s on s.id = h.sidecar
  left join entry_user u on u.log_id = p.log_id and u.seq = p.seq`

export interface CallRow extends EntryPlace {
  readonly hash: Buffer
  readonly body: Buffer
  readonly sidecar: string | null
  readonly user_hash: Buffer | null
  readonly user_clear: string | null
}

/** Returns null for an entry that its sidecar made by other rules, which has no view. */
export function viewOf({
  hash,
  body,
  sidecar,
  user_hash,
  user_clear,
}: CallRow): UsagePage['logs'][number] | null {
  try {
    const entry = JSON.parse(body.toString())
    const sealed: SealedRequest = { ...entry, rules: entry.rules.filter(isObject), hash: hashText(hash) }
    return { ...toUsageView(sealed, user_hash === null ? null : userName(user_hash, user_clear)), sidecar }
  } catch {
    return null
  }
}
