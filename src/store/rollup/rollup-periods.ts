// The keys of rollups in LMDB, by the hour or day whose sums they hold.

import type { PeriodKind } from '../../usage/periods.ts'
import { joinKey, u32 } from '../tables/layout.ts'

const U32_BYTES = 4

/** Key of the sums of a combination in an hour that is not packed. */
export const openKey = (hour: number, combination: number): Buffer => joinKey(u32(hour), u32(combination))

/** Returns the combination of such a key. */
export const combinationOfKey = (key: Buffer): number => key.readUInt32BE(U32_BYTES)

const MARKS = { hour: Buffer.from('h'), day: Buffer.from('d') } as const

/** Key of a packed hour or day. */
export const periodKey = (kind: PeriodKind, number: number): Buffer => joinKey(MARKS[kind], u32(number))

/** Returns the hour or day of a key. */
export const periodOfKey = (key: Buffer): number => key.readUInt32BE(MARKS.hour.length)
