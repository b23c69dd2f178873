// The fields that a usage report can group by, as REST and the command line write them.

/** Fields with a fixed name. */
const NAMED_FIELDS = ['key', 'model', 'api', 'upstream', 'day', 'month', 'user', 'tool', 'run'] as const
/** Fields of the sums of a hub besides. */
const FLEET_FIELDS = ['sidecar'] as const
/** The sums know only one of these at a time; each with another would be too many rows. */
const EXCLUSIVE_FIELDS: readonly string[] = ['user', 'tool', 'run', 'sidecar'] satisfies NamedField[]
const LABEL_PREFIX = 'label:'
/** Maximum fields of a report: each named one, and every label that a key can have. */
const MAXIMUM_FIELDS = 15

export type NamedField = (typeof NAMED_FIELDS | typeof FLEET_FIELDS)[number]
export type GroupField = NamedField | `label:${string}`

export interface UsageReportQuery {
  readonly groupBy: readonly GroupField[]
  /** Sums only the calls of this key; null or absent for those of all. */
  readonly keyId?: string | null
  /** The period is rounded outwards to whole UTC hours; its end is exclusive. */
  readonly sinceMs: number
  readonly untilMs: number
}

/** The fields that a report can group by. */
export interface GroupFields {
  readonly named: readonly NamedField[]
  /** The fields, for help and documents. */
  readonly text: string
  /** What a list of fields may hold, for error messages. */
  readonly allowed: string
}

function groupFields(named: readonly NamedField[]): GroupFields {
  const text = `${named.join(', ')} and ${LABEL_PREFIX}NAME`
  const exclusive = EXCLUSIVE_FIELDS.filter((field) => named.some((name) => name === field))
  const allowed = `${text}, separated by commas, each once, and only one of ${exclusive.join(', ')}`
  return { named, text, allowed }
}

/** The fields at a gateway, and at a hub. */
export const GATEWAY_FIELDS = groupFields(NAMED_FIELDS)
export const HUB_FIELDS = groupFields([...NAMED_FIELDS, ...FLEET_FIELDS])

/** Reads fields separated by commas; null for any other text. */
export function readGroupFields(text: string, { named }: GroupFields): GroupField[] | null {
  const isField = (field: string): field is GroupField =>
    named.some((name) => name === field) ||
    (field.startsWith(LABEL_PREFIX) && field.length > LABEL_PREFIX.length)
  const fields = text.split(',').map((field) => field.trim())
  const isValid =
    fields.every(isField) &&
    new Set(fields).size === fields.length &&
    fields.length <= MAXIMUM_FIELDS &&
    fields.filter((field) => EXCLUSIVE_FIELDS.includes(field)).length <= 1
  return isValid ? (fields as GroupField[]) : null
}

/** Reports whether a field is one of time, which is not of a combination. */
export const isTimeField = (field: GroupField): boolean => field === 'day' || field === 'month'

/** Returns the name of the label that a field groups by; null for any other field. */
export const labelOf = (field: GroupField): string | null =>
  field.startsWith(LABEL_PREFIX) ? field.slice(LABEL_PREFIX.length) : null

/** Returns the start of the UTC month of a point in time. */
export function startOfMonth(timeMs: number): number {
  const time = new Date(timeMs)
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth())
}
