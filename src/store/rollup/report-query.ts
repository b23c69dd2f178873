// The fields that a usage report can group by, as REST and the command line write them.

/** Fields with a fixed name. */
const NAMED_FIELDS = ['key', 'model', 'api', 'upstream', 'day', 'month', 'user', 'tool', 'run'] as const
/** The sums know only one of these at a time; each with another would be too many rows. */
const EXCLUSIVE_FIELDS: readonly string[] = ['user', 'tool', 'run'] satisfies NamedField[]
const LABEL_PREFIX = 'label:'
/** Maximum fields of a report: each named one, and every label that a key can have. */
const MAXIMUM_FIELDS = 15

type NamedField = (typeof NAMED_FIELDS)[number]
export type GroupField = NamedField | `label:${string}`

export interface UsageReportQuery {
  readonly groupBy: readonly GroupField[]
  /** Sums only the calls of this key; null or absent for those of all. */
  readonly keyId?: string | null
  /** The period is rounded outwards to whole UTC hours; its end is exclusive. */
  readonly sinceMs: number
  readonly untilMs: number
}

/** The fields, for help and documents. */
export const GROUP_FIELDS = `${NAMED_FIELDS.join(', ')} and label:NAME`

/** What a list of fields may hold, for error messages. */
export const GROUP_FIELDS_ALLOWED = `${GROUP_FIELDS}, separated by commas, each once, and only one of ${EXCLUSIVE_FIELDS.join(', ')}`

const isField = (text: string): text is GroupField =>
  NAMED_FIELDS.some((name) => name === text) ||
  (text.startsWith(LABEL_PREFIX) && text.length > LABEL_PREFIX.length)

/** Reads fields separated by commas; null for any other text. */
export function readGroupFields(text: string): GroupField[] | null {
  const fields = text.split(',').map((field) => field.trim())
  const isValid =
    fields.every(isField) &&
    new Set(fields).size === fields.length &&
    fields.length <= MAXIMUM_FIELDS &&
    fields.filter((field) => EXCLUSIVE_FIELDS.includes(field)).length <= 1
  return isValid ? (fields as GroupField[]) : null
}

/** Returns the name of the label that a field groups by; null for any other field. */
export const labelOf = (field: GroupField): string | null =>
  field.startsWith(LABEL_PREFIX) ? field.slice(LABEL_PREFIX.length) : null

/** Returns the start of the UTC month of a point in time. */
export function startOfMonth(timeMs: number): number {
  const time = new Date(timeMs)
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth())
}
