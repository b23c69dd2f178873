// The combinations that sums of usage are counted by, as rows. Bounds how many a day has, as a
// gateway does, and renames users that were erased.

import {
  type BoundedCount,
  boundedValue,
  type Combination,
  type CountedPart,
  combinationHash,
  ERASED,
  OTHER,
  partOf,
  ROLLUP_BOUNDS,
  type RollupBounds,
  restOf,
} from '../usage/combination.ts'
import { onlyRow, type Queries } from './database.ts'
import { storableText } from './entry-columns.ts'

/** Marks of names of members of a day. */
const COMBINATION_MARK = Buffer.from('c')
const VALUE_MARKS = { users: Buffer.from('u'), tools: Buffer.from('t') } as const satisfies Record<
  BoundedCount,
  Buffer
>

/** What a day has so far, up to the bounds. */
type DayCounts = Partial<Record<BoundedCount | CountedPart, number>>

/** Maximum combinations of days that a hub remembers. */
const MAXIMUM_REMEMBERED = 20_000

/** Combinations that the days are known to have. */
export class KnownCombinations {
  /** By day, by name. */
  readonly #days = new Map<number, Map<string, number>>()
  #size = 0
  #source = ''

  /** Forgets all if they are of another source. @param source changes when tables may be others */
  setSource(source: string): void {
    if (source !== this.#source) this.#clear()
    this.#source = source
  }

  find({ day, name }: Pick<WantedCombination, 'day' | 'name'>): number | undefined {
    return this.#days.get(day)?.get(name)
  }

  /** Keeps an id that is committed. */
  keep({ day, name }: Pick<WantedCombination, 'day' | 'name'>, id: number): void {
    if (this.#size >= MAXIMUM_REMEMBERED) this.#clear()
    const ids = this.#days.get(day) ?? new Map<string, number>()
    this.#days.set(day, ids)
    ids.set(name, id)
    this.#size++
  }

  #clear(): void {
    this.#days.clear()
    this.#size = 0
  }
}

/** A combination that is to be counted on a day. */
export interface WantedCombination {
  readonly day: number
  /** Text that no other combination has. */
  readonly name: string
  /** Read only if the combination is not known. */
  readonly hash: Buffer
  /** A combination that is renamed with its user is asked for each time. */
  readonly hasUser: boolean
  combination(): Combination
}

/** A combination that may stand for another one beyond the bounds. */
interface Candidate {
  readonly day: number
  readonly hash: Buffer
  /** The first one, by `memberText`. */
  readonly of: readonly string[]
  readonly combination: Combination
}

/** A member of a day: a combination, or a value of some. */
interface Member {
  readonly day: number
  readonly name: Buffer
}

/** A combination of a day by its hash, as a name in memory. */
const memberText = (day: number, hash: Buffer): string => `${day}/${hash.toString('latin1')}`

const memberOf = ({ day, hash }: Pick<Candidate, 'day' | 'hash'>): Member => ({
  day,
  name: Buffer.concat([COMBINATION_MARK, hash]),
})

/**
 * Returns the ids under which calls are counted, in their order: those of the combinations, or
 * beyond the bounds of ones with OTHER. Locks a day only when something is new on it.
 */
export async function admitCombinations(
  queries: Queries,
  wanted: readonly WantedCombination[],
  known: KnownCombinations,
  bounds: RollupBounds = ROLLUP_BOUNDS,
): Promise<readonly number[]> {
  const ids = wanted.map((one) => known.find(one))
  const unknown = wanted.filter((_, index) => ids[index] === undefined)
  if (unknown.length === 0) return ids as number[]
  const found = await admitUnknown(queries, unknown, known, bounds)
  return wanted.map((one, index) => ids[index] ?? found.get(memberText(one.day, one.hash))!)
}

/** @returns the ids by `memberText` */
async function admitUnknown(
  queries: Queries,
  wanted: readonly WantedCombination[],
  known: KnownCombinations,
  bounds: RollupBounds,
): Promise<ReadonlyMap<string, number>> {
  const admitted = new Map<string, number>()
  const asked = new Map(wanted.map((one) => [memberText(one.day, one.hash), one]))
  const members = await readMembers(queries, Array.from(asked.values(), memberOf))
  const news = new Map<string, Candidate>()
  for (const [text, one] of asked) {
    const { day, hash } = one
    const id = members.get(textOf(memberOf({ day, hash })))
    if (typeof id !== 'number') news.set(text, { day, hash, of: [text], combination: one.combination() })
    else {
      admitted.set(text, id)
      if (!one.hasUser) known.keep(one, id)
    }
  }
  if (news.size === 0) return admitted
  const days = await lockDays(queries, [...new Set(Array.from(news.values(), ({ day }) => day))])
  for (let candidates = [...news.values()]; candidates.length > 0; ) {
    const admission = await admit(queries, candidates, days, bounds)
    for (const [text, id] of admission.admitted) admitted.set(text, id)
    candidates = admission.beyond
  }
  await writeDays(queries, days)
  return admitted
}

const textOf = ({ day, name }: Member): string => memberText(day, name)

/** Returns the members that a day has: the id of a combination, null for a value. */
async function readMembers(
  queries: Queries,
  members: readonly Member[],
): Promise<ReadonlyMap<string, number | null>> {
  const rows = await queries.rows<Member & { combination: number | null }>(
    // Each by the index, however many there are.
    `select m.* from unnest($1::integer[], $2::bytea[]) as w(day, name)
     cross join lateral (
       select day, name, combination from rollup_member m where m.day = w.day and m.name = w.name limit 1) m`,
    [members.map(({ day }) => day), members.map(({ name }) => name)],
  )
  return new Map(rows.map((row) => [textOf(row), row.combination]))
}

async function lockDays(queries: Queries, days: readonly number[]): Promise<Map<number, DayCounts>> {
  const sorted = days.toSorted((a, b) => a - b)
  await queries.rows(
    `insert into rollup_day (day, counts)
     select day, '{}' from unnest($1::integer[]) with ordinality as d(day, place) order by place
     on conflict do nothing`,
    [sorted],
  )
  const rows = await queries.rows<{ day: number; counts: DayCounts }>(
    'select day, counts from rollup_day where day = any($1) order by day for update',
    [sorted],
  )
  return new Map(rows.map(({ day, counts }) => [day, { ...counts }]))
}

const writeDays = (queries: Queries, days: ReadonlyMap<number, DayCounts>): Promise<unknown> =>
  queries.rows(
    `update rollup_day d set counts = n.counts
     from unnest($1::integer[], $2::jsonb[]) as n(day, counts) where d.day = n.day`,
    [[...days.keys()], Array.from(days.values(), (counts) => JSON.stringify(counts))],
  )

/**
 * Admits those that fit, with the days locked.
 * @returns their ids, and what stands for the others
 */
async function admit(
  queries: Queries,
  candidates: readonly Candidate[],
  days: ReadonlyMap<number, DayCounts>,
  bounds: RollupBounds,
): Promise<{ readonly admitted: ReadonlyMap<string, number>; readonly beyond: Candidate[] }> {
  const known = await readMembers(
    queries,
    candidates.flatMap((one) => [memberOf(one), ...valuesOf(one)]),
  )
  const admitted = new Map<string, number>()
  const beyond = new Map<string, Candidate>()
  const fresh: Candidate[] = []
  const freshValues = new Map<string, Member>()
  for (const one of candidates) {
    const id = known.get(textOf(memberOf(one)))
    if (typeof id === 'number') {
      for (const text of one.of) admitted.set(text, id)
      continue
    }
    const counts = days.get(one.day)!
    const value = boundedValue(one.combination)
    const [member] = valuesOf(one)
    const isNewValue = member !== undefined && !known.has(textOf(member)) && !freshValues.has(textOf(member))
    if (isNewValue && (counts[value!.count] ?? 0) >= bounds[value!.count]) {
      standIn(beyond, one, value!.rest)
      continue
    }
    const part = partOf(one.combination)
    const rest = restOf(one.combination)
    if ((counts[part] ?? 0) >= bounds.combinations[part] && !combinationHash(rest).equals(one.hash)) {
      standIn(beyond, one, rest)
      continue
    }
    counts[part] = (counts[part] ?? 0) + 1
    if (isNewValue) {
      counts[value!.count] = (counts[value!.count] ?? 0) + 1
      freshValues.set(textOf(member), member)
    }
    fresh.push(one)
  }
  const ids = await writeCombinations(queries, fresh)
  await writeMembers(queries, [
    ...fresh.map((one) => ({ ...memberOf(one), combination: ids.get(one.hash.toString('hex'))! })),
    ...Array.from(freshValues.values(), (member) => ({ ...member, combination: null })),
  ])
  for (const { of, hash } of fresh) for (const text of of) admitted.set(text, ids.get(hash.toString('hex'))!)
  return { admitted, beyond: [...beyond.values()] }
}

/** Returns the member that the bounded value of a combination is, if it has one. */
function valuesOf({ day, combination }: Candidate): Member[] {
  const value = boundedValue(combination)
  return value === null ? [] : [{ day, name: Buffer.concat([VALUE_MARKS[value.count], value.name]) }]
}

/** Lets another combination stand for one. */
function standIn(beyond: Map<string, Candidate>, { day, of }: Candidate, combination: Combination): void {
  const hash = combinationHash(combination)
  const text = memberText(day, hash)
  beyond.set(text, { day, hash, combination, of: [...(beyond.get(text)?.of ?? []), ...of] })
}

/** Writes combinations that may be there. @returns their ids by their hash, in hex */
async function writeCombinations(
  queries: Queries,
  fresh: readonly Candidate[],
): Promise<ReadonlyMap<string, number>> {
  if (fresh.length === 0) return new Map()
  const lastDays = new Map<string, Candidate>()
  for (const one of fresh) {
    const name = one.hash.toString('hex')
    if ((lastDays.get(name)?.day ?? -1) < one.day) lastDays.set(name, one)
  }
  // All transactions write them in one order.
  const rows = [...lastDays].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
  const column = (of: (combination: Combination) => unknown) =>
    rows.map(({ combination }) => {
      const value = of(combination)
      return typeof value === 'string' ? storableText(value) : (value ?? null)
    })
  const written = await queries.rows<{ id: number; hash: Buffer }>(
    `insert into combination as c (hash, last_day, part, key_id, key_name, model, api, upstream, labels,
       user_hash, "user", tool, run, sidecar)
     select * from unnest($1::bytea[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
       $8::text[], $9::jsonb[], $10::bytea[], $11::text[], $12::text[], $13::text[], $14::text[])
     on conflict (hash) do update set last_day = greatest(c.last_day, excluded.last_day)
     returning id, hash`,
    [
      rows.map(({ hash }) => hash),
      rows.map(({ day }) => day),
      ...[column(partOf), column(({ key }) => key), column((one) => one.key_name)],
      ...[column(({ model }) => model), column(({ api }) => api), column(({ upstream }) => upstream)],
      column(({ labels }) => storableLabels(labels)),
      column((one) => (one.user_hash === null ? null : Buffer.from(one.user_hash, 'hex'))),
      ...[column(({ user }) => user), column(({ tool }) => tool), column(({ run }) => run)],
      column(({ sidecar }) => sidecar),
    ],
  )
  return new Map(written.map(({ id, hash }) => [hash.toString('hex'), id]))
}

const storableLabels = (labels: Combination['labels']): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [storableText(name), storableText(value)]),
    ),
  )

const writeMembers = (
  queries: Queries,
  members: readonly (Member & { readonly combination: number | null })[],
): Promise<unknown> =>
  queries.rows(
    `insert into rollup_member (day, name, combination)
     select * from unnest($1::integer[], $2::bytea[], $3::bigint[]) on conflict do nothing`,
    [
      members.map(({ day }) => day),
      members.map(({ name }) => name),
      members.map(({ combination }) => combination),
    ],
  )

/** Renames a user in the sums to ERASED. Calls that arrive later count apart from those. */
export async function eraseFromSums(queries: Queries, hash: Buffer): Promise<void> {
  await queries.rows(
    `with renamed as (
       update combination set hash = null, user_hash = null, "user" = $2 where user_hash = $1 returning id)
     delete from rollup_member m using renamed where m.combination = renamed.id`,
    [hash, ERASED],
  )
  await queries.rows('delete from rollup_member where name = $1', [Buffer.concat([VALUE_MARKS.users, hash])])
}

/** Reports whether the sums name a user by a hash. */
export const isInSums = async (queries: Queries, hash: Buffer): Promise<boolean> =>
  (await queries.rows('select from combination where user_hash = $1 limit 1', [hash])).length > 0

/**
 * Forgets the runs that were idle for the most days, above the maximum. Their sums count as OTHER.
 * @returns how many runs it forgot
 */
export async function forgetRuns(
  queries: Queries,
  limit: number,
  maximum = ROLLUP_BOUNDS.runs,
): Promise<number> {
  const { runs } = await onlyRow(
    queries.rows<{ runs: number }>('select count(distinct run) as runs from combination where run <> $1', [
      OTHER,
    ]),
  )
  const surplus = Math.min(limit, runs - maximum)
  if (surplus <= 0) return 0
  await queries.rows(
    `with oldest as (
       select run from combination where run <> $1 group by run order by max(last_day), run limit $2),
     renamed as (
       update combination c set hash = null, run = $1 from oldest where c.run = oldest.run returning c.id)
     delete from rollup_member m using renamed where m.combination = renamed.id`,
    [OTHER, surplus],
  )
  return surplus
}
