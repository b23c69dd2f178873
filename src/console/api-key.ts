// An API key as the API gives it, without the key itself.

export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly state: string
  readonly source: string
  readonly created_at: string
  readonly last_used_at: string | null
  readonly revoked_at: string | null
  readonly expires_at: string | null
  readonly models: readonly string[] | null
  readonly labels: Readonly<Record<string, string>>
  readonly capture: string | null
  readonly max_parallel: number | null
  readonly owner: string | null
  /** Id of the key that it replaced in a rotation. */
  readonly replaces: string | null
  /** Id of the key that replaced it in a rotation. */
  readonly replaced_by?: string
}

/** An answer of `GET /api/v1/keys`. */
export interface KeyList {
  readonly keys: readonly ApiKey[]
  /** Keys that match, on all pages. */
  readonly total: number
  /** Cursor of the next page; null on the last. */
  readonly next: string | null
}

/** An answer of `GET /api/v1/keys/{id}`. */
export interface KeyDetail extends ApiKey {
  /** Null at a hub. */
  readonly effective: {
    readonly models: readonly {
      readonly pattern: string
      readonly rule: string | null
      readonly only_for: readonly string[] | null
    }[]
    readonly limits: readonly LimitUse[]
    readonly capture: { readonly value: string; readonly rule: string | null }
  } | null
}

/** A limit, and what counts against it now. */
export interface LimitUse {
  /** Null for a limit of the key itself. */
  readonly rule: string | null
  readonly action: string
  readonly unit: string
  readonly limit: number
  /** Null for a limit by run or end user, like `left`. */
  readonly used: number | null
  readonly left: number | null
  readonly window: string | null
  readonly subject: string
  /** Models whose calls count; null for all. */
  readonly only_for: readonly string[] | null
  readonly reset_at: string | null
}

/** An answer to a creation or a rotation. */
export interface IssuedKey {
  readonly id: string
  readonly name: string
  /** The key, shown only once. */
  readonly key: string
}

/** An answer of `GET /api/v1/usage/limits`. */
export interface LimitsInUse {
  readonly limits: readonly {
    readonly rule_name: string
    readonly unit: string
    readonly subject_name: string
    readonly used: number
    readonly allowed: number
    readonly left: number
    readonly window: string
    readonly resets_at: string | null
  }[]
}

/** A limit in use as the terms of a key have it. */
export const limitUseOf = (limit: LimitsInUse['limits'][number]): LimitUse => ({
  rule: limit.rule_name,
  action: 'block',
  unit: limit.unit,
  limit: limit.allowed,
  used: limit.used,
  left: limit.left,
  window: limit.window,
  subject: limit.subject_name,
  only_for: null,
  reset_at: limit.resets_at,
})

/** An answer of `GET /api/v1/usage/report`. */
export interface ReportAnswer {
  readonly rows: readonly UsageSums[]
  readonly total: UsageSums
  readonly since: string
  readonly until: string
  readonly complete: boolean
}

/** A row of a report: the values of the fields that it is grouped by, and the sums. */
export type UsageSums = Readonly<Record<string, unknown>> & {
  readonly requests: number
  /** Calls that a rule blocked for their content. */
  readonly blocked: number
  /** Calls that a limit, a budget, or a rule on models or tools refused. */
  readonly refused: number
  readonly answered: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly cost: number | null
  readonly unpriced_requests: number
  readonly tool_calls: number
  readonly tool_refusals: number
}
