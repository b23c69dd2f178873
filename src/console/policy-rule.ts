// A rule as the API gives it.

export interface PolicyRule {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly pattern: string | readonly string[]
  readonly arguments?: readonly { readonly path: string; readonly pattern: string }[]
  readonly after?: readonly string[]
  readonly afterInjection?: number
  readonly kind?: string
  readonly context?: readonly string[]
  readonly checksum?: string
  readonly except?: readonly string[]
  readonly placeholder?: string
  readonly per?: string
  readonly placeholders?: string
  readonly match?: {
    readonly models?: readonly string[]
    readonly keys?: readonly string[]
    readonly labels?: Readonly<Record<string, string>>
    readonly direction?: string
    readonly parts?: readonly string[]
    readonly apis?: readonly string[]
  }
  readonly action?: string
  readonly enabled: boolean
  readonly declared_enabled: boolean
  readonly source:
    | { readonly kind: 'file'; readonly path: string; readonly line: number }
    | { readonly kind: 'api' }
    | { readonly kind: 'hub'; readonly path?: string; readonly line?: number }
  readonly override: { readonly reason: string; readonly expires_at: string | null } | null
  readonly description?: string
  readonly updated_at: string
}

/** An answer of `GET /api/v1/rules`. */
export interface RuleList {
  readonly rules: readonly PolicyRule[]
  readonly revision: string
  readonly declared_revision: string
  readonly errors: readonly { readonly text: string }[]
}

/** Says in one line which calls a rule is for; empty for a rule for all. */
export const describeMatch = ({
  models,
  keys,
  labels,
  direction,
  parts,
  apis,
}: NonNullable<PolicyRule['match']> = {}): string =>
  [
    ...(models === undefined ? [] : [`models ${models.join(', ')}`]),
    ...(keys === undefined ? [] : [`keys ${keys.join(', ')}`]),
    ...Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`),
    ...(direction === undefined ? [] : [direction]),
    ...(parts === undefined ? [] : [`parts ${parts.join(', ')}`]),
    ...(apis === undefined ? [] : [`APIs ${apis.join(', ')}`]),
  ].join('; ')

/** Says in one line what a rule says of values; empty for a rule that says nothing of them. */
export const describeValues = ({ kind, context, checksum, except, placeholder }: PolicyRule): string =>
  [
    ...(kind === undefined ? [] : [`kind ${kind}`]),
    ...(context === undefined ? [] : [`near ${context.join(', ')}`]),
    ...(checksum === undefined ? [] : [`checksum ${checksum}`]),
    ...(except === undefined ? [] : [`except ${except.join(', ')}`]),
    ...(placeholder === undefined ? [] : [`placeholder ${placeholder}`]),
  ].join('; ')

/** Says in one line what narrows a rule on tools; empty for a rule without conditions. */
export const describeConditions = ({
  arguments: tests,
  after,
  afterInjection,
}: Pick<PolicyRule, 'arguments' | 'after' | 'afterInjection'>): string =>
  [
    ...(tests ?? []).map(({ path, pattern }) => `${path === '' ? 'any argument' : path} matches ${pattern}`),
    ...(after === undefined ? [] : [`after ${after.join(', ')}`]),
    ...(afterInjection === undefined ? [] : [`after a result that scores ${afterInjection}`]),
  ].join('; ')
