// The fields that a usage report can group by, as REST and the command line write them.

/** Fields with a fixed name. */
const NAMED_FIELDS = ['key', 'model', 'api', 'upstream', 'day', 'month', 'user'] as const
const LABEL_PREFIX = 'label:'
/** Maximum fields of a report: each named one, and every label that a key can have. */
const MAXIMUM_FIELDS = 15

export type GroupField = (typeof NAMED_FIELDS)[number] | `label:${string}`

export interface UsageReportQuery {
  readonly groupBy: readonly GroupField[]
  /** The period is rounded outwards to whole UTC hours; its end is exclusive. */
  readonly sinceMs: number
  readonly untilMs: number
}

/** What a list of fields may hold, for error messages. */
export const GROUP_FIELDS_ALLOWED = `${NAMED_FIELDS.join(', ')} and label:NAME, separated by commas, each once`

const isField = (text: string): text is GroupField =>
  NAMED_FIELDS.some((name) => name === text) ||
  (text.startsWith(LABEL_PREFIX) && text.length > LABEL_PREFIX.length)

/** Reads fields separated by commas; null for any other text. */
export function readGroupFields(text: string): GroupField[] | null {
  const fields = text.split(',').map((field) => field.trim())
  const isValid =
    fields.every(isField) && new Set(fields).size === fields.length && fields.length <= MAXIMUM_FIELDS
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
