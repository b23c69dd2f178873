// The fields of a call's entry, one row each. The types of drafts and of the usage API, the order
// of an entry's members, the schema of the usage API and the sums of reports derive from them.

import { type Direction, KIND_NAME, PII_KINDS } from '../core/finding.ts'
import { RULE_ACTIONS } from '../core/rule-action.ts'
import {
  choice,
  flag,
  list,
  object,
  orNull,
  type Schema,
  text,
  time,
  type ValueOf,
  whole,
} from '../core/schema-builders.ts'

/** A kind of personal data. */
export const KIND: Schema<string> = {
  ...text(`Kind of personal data: ${PII_KINDS.join(', ')}, or one that a rule or the configuration defines.`),
  pattern: KIND_NAME.source,
}

/** How a call can end. The store keeps positions in this list, so new ones go to its end. */
export const OUTCOMES = [
  'ok',
  'blocked',
  'rate_limited',
  'upstream_error',
  'client_aborted',
  'interrupted',
  /** The key was valid, but the body was refused with a 4xx before any rule ran. */
  'invalid_request',
  /** Too many calls were running (`limits.concurrentRequests`); only the key was read. */
  'overloaded',
] as const

export type Outcome = (typeof OUTCOMES)[number]

/** What stops a call: a limit, budget, model, tool or route rule, or a content rule. */
export const STOPPED_BY = ['refused', 'blocked'] as const
export type StoppedBy = (typeof STOPPED_BY)[number]

/** Limits on rules and on text the upstream chooses, so every call fits into an entry. */
export const MAXIMUM_SEALED_RULES = 256
export const MAXIMUM_FINISH_REASON_CHARACTERS = 64

/** A rule that fired, as sealed. */
export interface SealedRule {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly action: string
  readonly direction: Direction
  /** For a `prompt_injection` rule: the score from which it fires, in thousandths. */
  readonly threshold?: number
}

/**
 * The highest injection score of a prompt and its evidence: integers and fixed words, no prompt
 * text.
 */
export interface SealedInjection {
  /** In thousandths. */
  readonly score: number
  /** The model's own threshold, in thousandths. */
  readonly threshold: number
  /**
   * Path of the scored text in the captured request, without the client's own words:
   * `messages[2].content`.
   */
  readonly path: string
  /** UTF-16 offsets in that text, end exclusive; null for a text without words. */
  readonly span: { readonly start: number; readonly end: number } | null
  /** Short names of known patterns, from a fixed list. */
  readonly reasons: readonly string[]
  /** Version of the model that scored. */
  readonly model: string
}

/** Tools of one call that are counted apart, and the name that counts all others. */
export const MAXIMUM_SEALED_TOOLS = 64
export const OTHER_TOOLS = 'other'

/** What a call did with a tool. */
export type SealedTool = {
  readonly name: string
  /** Whether the request defined it. */
  readonly defined: boolean
  /** Calls that the answer asked for. */
  readonly called: number
  /** Calls that a rule refused, and its definition if one left the request or denied it. */
  readonly refused: number
}

/** Number of findings of one kind in one direction. */
export interface SealedFindings {
  readonly kind: string
  readonly direction: Direction
  readonly count: number
  /**
   * What the policy did with them: block, redact, restore, monitor or allow. Absent means redact.
   */
  readonly action?: string
}

type CostSource = 'upstream' | 'book'

declare const SEALED: unique symbol

/** One row: what a field says, and where it is. */
interface EntryField<Sealed, ShownAs, IsOptional> {
  /** Type of the sealed value, for the compiler only. */
  readonly [SEALED]?: Sealed
  /** Describes what must be in the sealed value, where `schema` does not. */
  readonly sealed?: Schema | undefined
  /** The usage API shows it as it is sealed, in another form (usage-view.ts), or not. */
  readonly shown: ShownAs
  /** The entries of some calls lack it. */
  readonly isOptional: IsOptional
}
/** A field that the usage API shows. */
interface ShownField<Sealed, Shown, ShownAs> extends EntryField<Sealed, ShownAs, false> {
  /** Schema in the usage API. It says when an optional field is left out. */
  readonly schema: Schema<Shown>
}

/** How usage reports sum a field. An entry without it counts 0. */
interface FieldSum {
  /** `position` in packed sums (call-sums.ts), which are stored: it never changes. */
  readonly sum: { readonly position: number; readonly description: string }
}

const field = <Value>(schema: Schema<Value>): ShownField<Value, Value, 'as sealed'> => ({
  schema,
  shown: 'as sealed',
  isOptional: false,
})
/** A field that the usage API does not show. */
const hidden = <Sealed>(sealed?: Schema): EntryField<Sealed, 'never', false> => ({
  sealed,
  shown: 'never',
  isOptional: false,
})
/** A field that the usage API shows in another form than the entry. */
const converted = <Sealed, Shown>(
  schema: Schema<Shown>,
  sealed?: Schema,
): ShownField<Sealed, Shown, 'converted'> => ({
  schema,
  sealed,
  shown: 'converted',
  isOptional: false,
})
/** A field of the usage API that is not of the draft: sealing or the store adds it. */
const added = <Shown>(schema: Schema<Shown>): ShownField<never, Shown, 'added'> => ({
  schema,
  shown: 'added',
  isOptional: false,
})
/** A field that an entry leaves out when its call has none. */
const optional = <Row extends EntryField<unknown, string, false>>(
  row: Row & { readonly sum?: never },
): Omit<Row, 'isOptional'> & { readonly isOptional: true } => ({ ...row, isOptional: true })
/** A field of whole numbers or flags that usage reports sum. */
const summed = <Row extends EntryField<number | boolean | null, string, boolean>>(
  position: number,
  description: string,
  row: Row,
): Row & FieldSum => ({ ...row, sum: { position, description } })

/** Counts over calls, by the positions in packed sums that no field may have. */
export const CALL_COUNTS = [
  { name: 'requests', position: 0, description: 'Number of calls.' },
  { name: 'blocked', position: 1, description: 'Calls that a rule blocked for their content.' },
  { name: 'priced_requests', position: 6, description: 'Calls whose cost is known.' },
  {
    name: 'unpriced_requests',
    position: 7,
    description: 'Calls that used tokens and whose cost is not known.',
  },
  { name: 'tool_calls', position: 8, description: 'Calls of tools that the answers asked for.' },
  {
    name: 'tool_refusals',
    position: 9,
    description: 'Calls of tools, and definitions of tools, that a rule refused.',
  },
  {
    name: 'refused',
    position: 10,
    description: 'Calls that a limit, a budget, or a rule on models or tools refused.',
  },
  {
    name: 'answered',
    position: 11,
    description: 'Calls that an upstream answered: that ended well, or used tokens.',
  },
] as const

type Labels = Readonly<Record<string, string>>
const LABELS: Schema<Labels> = {
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'Labels of the key at the time of the call.',
}
const FINDINGS = list(object({ kind: text('Kind.'), direction: text('Direction.'), count: whole('Number.') }))
/** Part of a rule that is checked and shown. */
const FIRED_RULES = list(
  object({
    id: text('Id of the rule.'),
    name: text('Name of the rule.'),
    action: choice<string>('Action of the rule.', ...RULE_ACTIONS),
  }),
)
const MAXIMUM_STATUS = 999

/** In the order in which the usage API shows them. Times are whole milliseconds. */
const ENTRY_FIELDS = {
  id: field(text('UUIDv7; `x-request-id` of the answer.')),
  created_at: field(time('When the request arrived.')),
  model: field(text('Model that the client named; empty when the body was refused.')),
  prompt_tokens: summed(2, 'Tokens of the prompts.', field(whole('Tokens of the prompt.'))),
  completion_tokens: summed(3, 'Tokens of the answers.', field(whole('Tokens of the answer.'))),
  total_tokens: summed(4, 'Tokens of prompts and answers.', field(whole('Tokens of prompt and answer.'))),
  latency_ms: field(whole('Milliseconds from the request to the end of its answer.')),
  blocked: field(flag('A rule blocked the request or the answer, or refused the model or a tool.')),
  pii_detected: field(flag('Personal data was found in the request or the answer.')),
  pii_types: field(list(KIND)),
  pii: hidden<readonly SealedFindings[]>(FINDINGS),
  hash: added(text('`sha256:` and the hash of the sealed entry.')),
  seq: added(whole('Sequence number in the chain.')),
  prev_hash: added(orNull(text('Hash of the previous entry; null for the first.'))),
  key_id: field(text('Id of the API key.')),
  key_name: field(text('Name of the API key.')),
  /** Absent without any. */
  labels: optional(converted<Labels, Labels>(LABELS, LABELS)),
  status: field(
    whole('HTTP status of the answer; 499 when the client disconnected first.', 0, MAXIMUM_STATUS),
  ),
  outcome: field(choice('How the call ended.', ...OUTCOMES)),
  stopped: added(
    orNull(
      choice(
        'What stopped the call: a limit, budget, model, tool or route rule (`refused`), or a content rule (`blocked`); null for a call that no rule stopped.',
        ...STOPPED_BY,
      ),
    ),
  ),
  error_code: hidden<string | null>(orNull(text('Code of the error that ended the call.'))),
  stream: field(flag('The client asked for a stream.')),
  /** At most MAXIMUM_FINISH_REASON_CHARACTERS. */
  finish_reason: field(orNull(text('`finish_reason` of the first choice.'))),
  usage_source: field(choice('Who counted the tokens.', 'upstream', 'estimated')),
  /** In 10⁻⁹ USD; in entries of version 1 in millionths of the upstream's currency unit. */
  cost: summed(
    5,
    'Known costs in USD; null when calls used tokens and the cost of no call is known.',
    converted<number | null, number | null>(
      orNull({
        type: 'number',
        minimum: 0,
        description:
          'Cost in USD, as the upstream or the price book says; null when it is not known. Before entry version 2: as the upstream reported it, in its own currency.',
      }),
      orNull(whole('In the unit of its version.')),
    ),
  ),
  /** Absent when the cost is not known, and in entries of version 1. */
  cost_source: optional(
    converted<CostSource, CostSource | null>(
      orNull(choice('Who says what the call cost.', 'upstream', 'book')),
    ),
  ),
  /** Revision of the price book; absent unless the cost is from it. */
  price_revision: optional(hidden<string>()),
  ttft_ms: field(orNull(whole('Milliseconds to the first chunk of a stream.'))),
  overhead_ms: field(whole('Milliseconds that the gateway itself added.')),
  /** At most MAXIMUM_SEALED_RULES. */
  rules: converted<readonly SealedRule[], Pick<SealedRule, 'id' | 'name' | 'action'>[]>(
    FIRED_RULES,
    FIRED_RULES,
  ),
  run: optional(field(text('Keyed hash of the run that the call names; left out when it names none.'))),
  /** At most MAXIMUM_SEALED_TOOLS and one for all others; absent for a call without tools. */
  tools: optional(
    field<SealedTool[]>(
      list(
        object({
          name: text('A function, `mcp:LABEL/TOOL`, or the type of a tool that the provider runs.'),
          defined: flag('The request defined it.'),
          called: whole('Calls that the answer asked for.'),
          refused: whole('Calls, and definitions, that a rule refused.'),
        }),
      ),
    ),
  ),
  /** Number of further rules that fired; absent when there are none. */
  rules_omitted: optional(hidden<number>()),
  /** Null when no injection rule asked for a score. */
  injection: hidden<SealedInjection | null>(),
  policy_revision: field(text('Revision of the rule set that decided on the call.')),
  content_hash: added(
    orNull(text('Salted commitment to the captured exchange; null when nothing was captured.')),
  ),
  /** The call named its end user, who is kept apart from the entry; absent for any other. */
  has_user: optional(hidden<true>()),
  user: added(
    orNull(
      text(
        'End user that the client named: a keyed hash, or clear text with `audit.user: clear`. Null without one, and once it is erased.',
      ),
    ),
  ),
  captured: optional(
    field(
      flag<false>(
        'False for a call whose text was not to be stored (`audit.capture`, a rule or the key); left out for any other.',
      ),
    ),
  ),
  /** Absent in entries of releases that served only `chat`. */
  api: optional(
    converted<string, string>(
      text('Name of the API, such as `chat` or `embeddings`.'),
      text('Name of the API.'),
    ),
  ),
  attempts: optional(
    field(whole('Requests sent upstream, retries included; left out when it was not counted.')),
  ),
  upstream: optional(
    field(text('Name of the upstream that answered, or was asked last; left out when none was.')),
  ),
  unscanned: optional(
    field(flag<true>('The call was forwarded without a scan (passThrough); left out for any other.')),
  ),
  method: optional(field(text('Method of a call without a scan.'))),
  path: optional(field(text('Path of a call without a scan, without its query.'))),
  request_bytes: optional(field(whole('Size of the body of a call without a scan.'))),
  response_bytes: optional(field(whole('Size of the answer to a call without a scan.'))),
  upstream_request_id: optional(field(text('`x-request-id` of the upstream; left out when it sent none.'))),
}

type Fields = typeof ENTRY_FIELDS
type FieldName = keyof Fields

type NamesShown<As> = {
  [Name in FieldName]: Fields[Name]['shown'] extends As ? Name : never
}[FieldName]
type Optional = { [Name in FieldName]: Fields[Name]['isOptional'] extends true ? Name : never }[FieldName]
type Sealed<Name extends FieldName> =
  Fields[Name] extends EntryField<infer Value, infer _, infer _> ? Value : never
type Shown<Name extends FieldName> = Fields[Name] extends { readonly schema: infer One }
  ? ValueOf<One>
  : never

/** Fields of a draft. */
export type Drafted = Exclude<FieldName, NamesShown<'added'>>
export type RequestFields = { readonly [Name in Exclude<Drafted, Optional>]: Sealed<Name> } & {
  readonly [Name in Drafted & Optional]?: Sealed<Name>
}

/** Fields of the view that are made for it; every view has them. */
export type MadeField = NamesShown<'converted' | 'added'>
/** A usage entry of `GET /api/v1/usage/logs`. */
export type UsageView = {
  readonly [Name in MadeField | Exclude<NamesShown<'as sealed'>, Optional>]: Shown<Name>
} & { readonly [Name in NamesShown<'as sealed'> & Optional]?: Shown<Name> }

/** Fields that usage reports sum. */
export type SummedField = {
  [Name in FieldName]: Fields[Name] extends FieldSum ? Name : never
}[FieldName]

type AnyField = EntryField<unknown, string, boolean> & { readonly schema?: Schema } & Partial<FieldSum>
const ROWS = Object.entries<AnyField>(ENTRY_FIELDS)

/** The rows of a draft's fields. */
export const DRAFTED_FIELDS = ROWS.filter(([, { shown }]) => shown !== 'added')
/** What an entry says in a member. */
export interface SealedMember {
  readonly name: string
  readonly schema: Schema
  readonly isOptional: boolean
}

/** Returns what an entry says in a member. @throws TypeError for a row without a schema of it */
export function sealedMember(name: Drafted): SealedMember {
  const { schema, sealed, shown, isOptional }: AnyField = ENTRY_FIELDS[name]
  const own = sealed ?? (shown === 'as sealed' ? schema : undefined)
  if (own === undefined) throw new TypeError(`the field ${name} has no schema of its sealed value`)
  return { name, schema: own, isOptional }
}

/** The rows of the view's fields. */
export const SHOWN_FIELDS = ROWS.flatMap(([name, { schema, ...row }]) =>
  schema === undefined ? [] : ([[name, { ...row, schema }]] as const),
)
/** The rows of the fields that usage reports sum, by their position in packed sums. */
export const SUMMED_FIELDS = ROWS.flatMap(([name, { sum }]) =>
  sum === undefined ? [] : [{ name: name as SummedField, ...sum }],
).sort((one, other) => one.position - other.position)
