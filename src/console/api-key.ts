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
}

/** Returns the keys that a key replaced, at any distance, and that still work. */
export function workingPredecessors(
  keys: readonly ApiKey[],
  { replaces }: Pick<ApiKey, 'replaces'>,
): ApiKey[] {
  const found: ApiKey[] = []
  for (let id = replaces; id !== null; ) {
    const key = keys.find((one) => one.id === id)
    if (key === undefined) break
    if (key.state === 'active') found.push(key)
    id = key.replaces
  }
  return found
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
    readonly unit: 'tokens' | 'requests' | 'usd'
    readonly scope: string
    readonly subject: string
    readonly key_name: string | null
    readonly used: number
    readonly allowed: number
    readonly window_seconds: number
  }[]
}

/** An answer of `GET /api/v1/usage/report`. */
export interface ReportAnswer {
  readonly rows: readonly UsageSums[]
  readonly total: UsageSums
  readonly since: string
  readonly until: string
  readonly complete: boolean
}

export interface UsageSums {
  readonly key?: string
  readonly key_name?: string
  readonly model?: string
  readonly day?: string
  readonly tool?: string
  readonly run?: string
  readonly requests: number
  readonly blocked: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly cost: number | null
  readonly unpriced_requests: number
}
